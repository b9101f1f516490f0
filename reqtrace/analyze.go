package reqtrace

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev"
)

// Report says where the time of a trace's requests went. docs/reference/explain-json.md describes
// it.
type Report struct {
	Trace time.Duration `json:"trace_ns"`
	// why reading ended early, or ""
	Broken   string `json:"broken,omitempty"`
	Requests int    `json:"requests"` // whole ones of Class
	// the figures are of one request in so many; 0: of all
	Sampled  int `json:"sampled,omitempty"`
	CutStart int `json:"cut_start"`
	CutEnd   int `json:"cut_end"`
	Unmarked int `json:"unmarked,omitempty"` // without a region, and left out
	// asked for a trace, a profile or a status page, and left out
	Measured int      `json:"measured,omitempty"`
	Missing  []string `json:"missing,omitempty"` // entries of Options.Requests that no function matches
	// regions mark the requests
	Marked bool   `json:"marked"`
	Procs  int    `json:"procs"`
	Class  string `json:"class,omitempty"` // Options.Class, which holds for all but Classes
	// most of the slowest 1% first, at most 64
	Classes []Class `json:"classes"`
	Total   Parts   `json:"total_ns"`
	// fastest first, without empty ones
	Bands     []Band     `json:"bands"`
	Median    Band       `json:"median"` // p45 to p55
	Tail      Band       `json:"tail"`   // p99 and above
	Machine   Machine    `json:"machine,omitzero"`
	Quota     *Quota     `json:"quota,omitempty"` // nil: not known
	Samples   int        `json:"samples,omitempty"`
	Allocated uint64     `json:"allocated_bytes,omitempty"`
	CCDF      []Quantile `json:"ccdf"`
	Slowest   []Request  `json:"slowest"`
	Spans     []Span     `json:"spans"` // the collector marked, or the world was stopped
	Blocks    []Block    `json:"blocks"`
}

// Quantile is a point of the distribution of the requests' times.
type Quantile struct {
	Q    float64       `json:"q"`
	Time time.Duration `json:"ns"`
}

const (
	defaultSlowest = 20
	maxSlowest     = 1000
)

// Analyze reads an execution trace and says where the time of its requests went. It fails as [Read]
// does, unless a broken trace has whole requests. It keeps a million requests at most.
func Analyze(ctx context.Context, r io.Reader, o Options) (*Report, error) {
	if o.Slowest < 0 || o.Slowest > maxSlowest {
		return nil, evenkeel.NewOptionError("reqtrace.Options", "Slowest", "%d; it goes from 1 to %d, or is 0 for %d",
			o.Slowest, maxSlowest, defaultSlowest)
	}
	a := analysis{slowest: cmp.Or(o.Slowest, defaultSlowest), each: o.Each}
	m, err := newModel(o)
	if err != nil {
		return nil, err
	}
	a.report.Class = o.Class
	err = m.read(ctx, r, o.Yield, func() bool {
		for i := range m.turns.done {
			a.add(&m.turns.done[i], m)
		}
		m.turns.done = m.turns.done[:0]
		return true
	})
	var broken *brokenError
	switch {
	case errors.As(err, &broken) && len(a.requests) > 0:
		a.report.Broken = broken.where()
	case err != nil:
		return nil, err
	case len(a.requests) == 0 && !a.cut:
		return nil, m.sites.noRequests()
	}
	report := new(*a.finish(m)) // without what a has of each request
	if o.Class != "" && report.Requests+report.CutStart+report.CutEnd == 0 {
		return nil, classError(o.Class, report.Classes)
	}
	return report, nil
}

type analysis struct {
	report   Report
	requests []record // in the end by time
	chunk    packed   // of the last details
	scratch  details
	slowest  int
	each     func(Request) // or nil
	lent     Request       // to each
	cut      bool
	floor    time.Duration // the slowest take longer than this

	seen   int // whole requests of Options.Class
	most   int // how many are kept; 0: maxKept
	oneIn  int // 0: each is kept
	chance *rand.Rand
}

func (a *analysis) add(r *served, m *model) {
	if r.Cut != "" {
		a.cut = true
		switch {
		case r.other:
		case r.Cut == CutStart:
			a.report.CutStart++
		default:
			a.report.CutEnd++
		}
		return
	}
	m.turns.classes.add(r.class, &r.Parts)
	a.keep(r, m)
	if r.other {
		return
	}
	if r.Parts.ns[CauseMachine] > 0 {
		m.machine.Requests++
	}
	a.seen++
	if a.each != nil {
		r.Sites, r.Path = a.lent.Sites[:0], a.lent.Path[:0]
		a.lent = r.fill(m)
		a.each(a.lent)
	}
	if r.own() <= a.floor {
		return
	}
	a.report.Slowest = append(a.report.Slowest, r.out(m))
	if len(a.report.Slowest) >= 2*a.slowest {
		a.cull()
	}
}

func (a *analysis) cull() {
	s := a.report.Slowest
	slices.SortStableFunc(s, func(p, q Request) int { return cmp.Compare(q.own(), p.own()) })
	if len(s) > a.slowest {
		clear(s[a.slowest:])
		s = s[:a.slowest]
		a.floor = s[len(s)-1].own()
	}
	a.report.Slowest = s
}

func (a *analysis) finish(m *model) *Report {
	a.cull()
	slices.SortFunc(a.requests, func(p, q record) int { return cmp.Compare(p.time, q.time) })
	r := &a.report
	r.Trace, r.Procs, r.Spans = dur(m.now-m.origin), m.clock.max, m.gc
	r.Marked, r.Unmarked, r.Measured, r.Missing = m.turns.marked, m.turns.unmarked, m.turns.measured, m.sites.missing()
	r.Classes = m.turns.classes.list(a.requests)
	a.requests = slices.DeleteFunc(a.requests, func(q record) bool { return !m.turns.classes.wants(q.class) })
	r.Total = m.turns.classes.asked()
	r.Requests = a.seen
	r.Machine, r.Samples, r.Allocated = m.machine, m.samples, m.heap.allocated
	m.kernel.finish(r, m.origin, m.now)
	if len(a.requests) == 0 {
		return r
	}
	if a.oneIn > 1 {
		r.Sampled = a.oneIn
		for i := range r.Classes {
			r.Classes[i].Requests *= r.Sampled
			r.Classes[i].Slow *= r.Sampled
		}
	}
	r.Median = a.band(m, "p45-55", medianFrom, medianTo)
	for _, b := range bands {
		if band := a.band(m, b.name, b.from, b.to); band.Requests > 0 {
			r.Bands = append(r.Bands, band)
		}
	}
	r.Tail = a.band(m, "p99+", .99, 1)
	r.Blocks = a.blocks(m)
	r.CCDF = a.ccdf()
	return r
}

func (a *analysis) ccdf() (points []Quantile) {
	n := len(a.requests)
	for above := float64(n); above >= 1; above /= 1.122 {
		i := n - int(above)
		points = append(points, Quantile{float64(i) / float64(n), dur(a.requests[i].time)})
	}
	return append(points, Quantile{1, dur(a.requests[n-1].time)})
}

// Band is the requests between two percentiles. Their times leave out machine stalls.
type Band struct {
	Name     string        `json:"name"` // such as p90-99
	Requests int           `json:"requests"`
	Min      time.Duration `json:"min_ns"`
	Max      time.Duration `json:"max_ns"`
	Mean     time.Duration `json:"mean_ns"`
	Parts    Parts         `json:"parts_ns"`  // mean of a request
	Excess   Parts         `json:"excess_ns"` // Parts less those of the median
	Sites    []Blame       `json:"sites"`     // means of a request; largest first, at most 24
	// where its requests ran, by a CPU profile; most first, at most 16
	Samples []Sample `json:"samples,omitempty"`
}

var bands = []struct {
	name     string
	from, to float64
}{{"p0-50", 0, .5}, {"p50-90", .5, .9}, {"p90-99", .9, .99}, {"p99-99.9", .99, .999}, {"p99.9+", .999, 1}}

const medianFrom, medianTo = .45, .55

// Share returns which part of the band's excess over the median these causes are, from 0 to 1. A
// cause that takes less than in the median counts as 0.
func (b *Band) Share(c ...Cause) float64 {
	var sum, all time.Duration
	for i, d := range b.Excess.ns {
		if d > 0 {
			all += d
			if slices.Contains(c, Cause(i)) {
				sum += d
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(sum) / float64(all)
}

// MarshalJSON adds the share of each cause.
func (b Band) MarshalJSON() ([]byte, error) {
	type fields Band
	b.Sites = notNil(b.Sites)
	shares := map[Cause]float64{}
	for c := range b.Excess.All() {
		if s := b.Share(c); s > 0 {
			shares[c], _ = strconv.ParseFloat(strconv.FormatFloat(s, 'g', 4, 64), 64)
		}
	}
	return json.Marshal(struct {
		fields
		Shares map[Cause]float64 `json:"shares"`
	}{fields(b), shares})
}

// The last band and the median always have a request.
func (a *analysis) edges(from, to float64) (i, j int) {
	n := float64(len(a.requests))
	i, j = int(math.Floor(from*n)), int(math.Floor(to*n))
	if j <= i && (to == 1 || from == medianFrom) {
		i = min(i, len(a.requests)-1)
		j = i + 1
	}
	return i, j
}

func (a *analysis) band(m *model, name string, from, to float64) Band {
	i, j := a.edges(from, to)
	if j <= i {
		return Band{Name: name}
	}
	requests := a.requests[i:j]
	var sum int64
	var parts Parts
	waits, samples := make([]int64, len(m.sites.waits)), map[siteID]int{}
	for k := range requests {
		sum += requests[k].time
		d := a.detailsOf(&requests[k])
		for _, w := range d.waits {
			waits[w.wait] += w.ns
			parts.ns[m.sites.waits[w.wait].cause] += dur(w.ns)
		}
		for _, s := range d.samples {
			samples[s.site] += s.n
		}
	}
	n, slowest := int64(len(requests)), requests[len(requests)-1].time
	b := Band{
		Name: name, Requests: len(requests) * max(a.oneIn, 1), Min: dur(requests[0].time), Max: dur(slowest),
		Mean: dur(sum / n),
	}
	for c, d := range parts.ns {
		b.Parts.ns[c] = d / dur(n)
		b.Excess.ns[c] = b.Parts.ns[c] - a.report.Median.Parts.ns[c]
	}
	b.Sites = m.sites.blames(waits, n, slowest)
	b.Samples = m.sites.samples(samples)
	return b
}

// An analysis keeps something of each request, until there are too many:
//
//	requests    1 ............ maxKept ........ 2 maxKept ............. 4 maxKept ...
//	kept        each         │ half of them   │ one in four           │ one in eight
//
// Each request is kept with the same chance.
const maxKept = 1 << 20

type record struct {
	time    int64
	class   siteID
	details packed
}

// details has nothing of a request that Options.Class leaves out.
type details struct {
	start   int64
	waits   []spent // all of its time without CauseMachine
	samples []sampled
}

func (a *analysis) keep(r *served, m *model) {
	d := &a.scratch
	*d = details{waits: d.waits[:0], samples: d.samples[:0]}
	if !r.other {
		d.start = int64(r.Start)
		rest := r.Parts
		rest.ns[CauseMachine] = 0
		for i := range r.sites {
			s := &r.sites[i]
			d.waits = append(d.waits, spent{m.sites.internWait(s.wait, s.longest), s.time})
			rest.ns[s.cause] -= dur(s.time)
		}
		for c, ns := range rest.All() {
			d.waits = append(d.waits, spent{waitID(c), int64(ns)})
		}
		d.samples = append(d.samples, r.samples...)
	}
	if a.oneIn > 1 && a.chance.IntN(a.oneIn) != 0 {
		return
	}
	a.requests = append(a.requests, record{int64(r.own()), r.class, a.pack(d)})
	if len(a.requests) >= cmp.Or(a.most, maxKept) {
		a.thin()
	}
}

func (a *analysis) thin() {
	if a.oneIn == 0 {
		a.oneIn, a.chance = 1, rand.New(rand.NewPCG(1, 2)) // the same trace has the same report
	}
	a.oneIn *= 2
	all := a.requests
	a.requests, a.chunk = nil, nil
	for i := range all {
		if a.chance.IntN(2) == 0 {
			all[i].details = a.pack(a.detailsOf(&all[i]))
			a.requests = append(a.requests, all[i])
		}
	}
}

const chunkSize = 64 << 10 // bytes

type packed []byte

func (p *packed) put(ns int64) { *p = binary.AppendUvarint(*p, uint64(max(ns, 0))) }

func (p *packed) next() int64 {
	if b := (*p)[0]; b < 0x80 { // most are short
		*p = (*p)[1:]
		return int64(b)
	}
	v, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return int64(v)
}

// pack puts details into the chunk, or into a new one.
func (a *analysis) pack(d *details) packed {
	most := binary.MaxVarintLen64 * (3 + 2*(len(d.waits)+len(d.samples)))
	n := len(a.chunk)
	if cap(a.chunk)-n < most {
		a.chunk, n = make(packed, 0, max(chunkSize, most)), 0
	}
	p := &a.chunk
	p.put(d.start)
	p.put(int64(len(d.waits)))
	for _, w := range d.waits {
		p.put(int64(w.wait))
		p.put(w.ns)
	}
	p.put(int64(len(d.samples)))
	for _, q := range d.samples {
		p.put(int64(q.site))
		p.put(int64(q.n))
	}
	return a.chunk[n:]
}

// detailsOf is valid until the next call.
func (a *analysis) detailsOf(r *record) *details {
	p, d := r.details, &a.scratch
	*d = details{start: p.next(), waits: d.waits[:0], samples: d.samples[:0]}
	for n := p.next(); n > 0; n-- {
		d.waits = append(d.waits, spent{waitID(p.next()), p.next()})
	}
	for n := p.next(); n > 0; n-- {
		d.samples = append(d.samples, sampled{siteID(p.next()), int(p.next())})
	}
	return d
}
