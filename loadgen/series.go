package loadgen

import (
	"fmt"
	"math"
	"strconv"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	seriesBins     = 400 // at most; then bins are joined two by two
	seriesInterval = 20 * time.Millisecond
	seriesDigits   = 2
)

// Series is latency over time, by the time a request was due.
type Series struct {
	Interval time.Duration `json:"interval_ns"`
	Points   []Point       `json:"points"` // Points[i] starts at i x Interval after the first measured request was due
}

// Point is one interval of a Series. Its latencies are within 1%.
type Point struct {
	Count  int64         `json:"count"`            // answered
	Failed int64         `json:"failed,omitempty"` // of all due in the interval
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`

	Histogram Packed `json:"histogram,omitzero"` // that the latencies are taken from, of two digits: what Merge adds
}

// series collects a Series: bins of one interval, joined when there are too many.
type series struct {
	interval int64
	bins     []bin
}

type bin struct {
	latency *hdr.Histogram
	failed  int64
	count   int64
}

func newSeries() *series { return &series{interval: int64(seriesInterval)} }

// at returns the bin of a time in nanoseconds since the start.
func (s *series) at(t int64) *bin {
	i := int(max(t, 0) / s.interval)
	for i >= seriesBins {
		s.join()
		i = int(max(t, 0) / s.interval)
	}
	for len(s.bins) <= i {
		s.bins = append(s.bins, bin{})
	}
	return &s.bins[i]
}

func (s *series) join() {
	n := 0
	for i := 0; i < len(s.bins); i += 2 {
		b := s.bins[i]
		if i+1 < len(s.bins) {
			b.add(s.bins[i+1])
		}
		s.bins[n] = b
		n++
	}
	clear(s.bins[n:])
	s.bins = s.bins[:n]
	s.interval *= 2
}

func (b *bin) add(c bin) {
	b.failed += c.failed
	b.count += c.count
	switch {
	case b.latency == nil:
		b.latency = c.latency
	case c.latency != nil:
		b.latency.Merge(c.latency)
	}
}

func (b *bin) record(ns int64) {
	if b.latency == nil {
		b.latency = hdr.New(histogramLowest, histogramHighest, seriesDigits)
	}
	_ = b.latency.RecordValue(min(max(ns, 0), histogramHighest)) // in range
}

func (s *series) result() Series {
	r := Series{Interval: time.Duration(s.interval), Points: make([]Point, len(s.bins))}
	for i, b := range s.bins {
		p := Point{Count: b.count, Failed: b.failed}
		if b.latency != nil {
			p.P50 = time.Duration(b.latency.ValueAtQuantile(50))
			p.P99 = time.Duration(b.latency.ValueAtQuantile(99))
			p.Max = time.Duration(b.latency.Max())
			p.Histogram = pack(b.latency)
		}
		r.Points[i] = p
	}
	return r
}

// Overload says that the open loop's backlog grew to the end: more was asked for than came back.
type Overload struct {
	Asked float64 `json:"asked_per_s"` // requests due, a second, in the second half of the window
	// answers a second: Result.Throughput, or where the rate changes those of that half
	Answered float64 `json:"answered_per_s"`
	Backlog  int64   `json:"backlog"` // due and neither answered nor failed when the last was due

	// Generator is set where the load generator itself was as far behind: it, and not the service,
	// is at its limit.
	Generator bool `json:"generator,omitempty"`

	Text string `json:"text"` // the sentence that String returns
}

// String says it in one sentence.
func (o *Overload) String() string { return o.Text }

func (o *Overload) sentence() string {
	asked, answered := perSecond(o.Asked), perSecond(o.Answered)
	if o.Generator {
		return fmt.Sprintf("the load generator got to %s/s; %s/s is more than it can send from here: the service's limit is not known", answered, asked)
	}
	return fmt.Sprintf("the service answered %s/s; %s/s is more than it can do", answered, asked)
}

// perSecond writes a rate with three digits at least, and commas between thousands.
func perSecond(x float64) string {
	if x < 100 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	s := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// flow counts what came due and what ended over time.
type flow struct {
	interval int64 // of a bin, ns
	bins     []flowBin
}

type flowBin struct {
	due, ended int64
	answered   int64 // of ended
	waited     int64 // by the answered, from when they were due, ns
}

func newFlow() *flow { return &flow{interval: int64(seriesInterval)} }

// at returns the bin of a time in nanoseconds since the start.
func (f *flow) at(t int64) *flowBin {
	t = max(t, 0)
	for t/f.interval >= seriesBins {
		for i := range (len(f.bins) + 1) / 2 {
			b := f.bins[2*i]
			if 2*i+1 < len(f.bins) {
				b.add(f.bins[2*i+1])
			}
			f.bins[i] = b
		}
		f.bins = f.bins[:(len(f.bins)+1)/2]
		f.interval *= 2
	}
	for int64(len(f.bins)) <= t/f.interval {
		f.bins = append(f.bins, flowBin{})
	}
	return &f.bins[t/f.interval]
}

func (b *flowBin) add(c flowBin) {
	b.due += c.due
	b.ended += c.ended
	b.answered += c.answered
	b.waited += c.waited
}

// ended counts a request; answered is false where it failed.
func (f *flow) ended(due, end int64, answered bool) {
	f.at(due).due++
	b := f.at(end)
	b.ended++
	if answered {
		b.answered++
		b.waited += end - due
	}
}

// unfinished counts a request that was due and has not ended.
func (f *flow) unfinished(due int64) { f.at(due).due++ }

// What an overload is. A queue in front of a service that keeps up grows and shrinks; one that
// grew in each of the last four eighths of the window, and made each answer wait longer, has no
// end. The second half alone is looked at, since a service may need the first to warm up.
const (
	overloadBins   = 40   // of the window at least: 0.8 s
	overloadGrowth = .005 // of what was due in an eighth
	overloadTotal  = .01  // of what was due in the second half
	overloadWait   = 1.1  // times as long in the last eighth as in the first of the second half
)

// overload returns nil unless the backlog grew to the end. rate is what was asked for, 0 where it
// changed. behind is how late the pacer itself was with its last request, in nanoseconds, and
// skipped the requests that it had not come to by the end.
func (f *flow) overload(rate float64, behind, skipped int64) *Overload {
	n := 0 // bins up to the last request due, which is in a bin of its own
	for i, b := range f.bins {
		if b.due > 0 {
			n = i
		}
	}
	if n < overloadBins {
		return nil
	}
	sum := func(from, to int) (s flowBin) {
		for _, b := range f.bins[from:to] {
			s.add(b)
		}
		return s
	}
	var eighths [4]flowBin
	var half flowBin
	for k := range eighths {
		e := sum(n*(k+4)/8, n*(k+5)/8)
		if growth := float64(e.due - e.ended); growth < 1 || growth < overloadGrowth*float64(e.due) {
			return nil
		}
		eighths[k] = e
		half.add(e)
	}
	if float64(half.due-half.ended) < overloadTotal*float64(half.due) || half.answered == 0 {
		return nil
	}
	first, last := &eighths[0], &eighths[3]
	if first.answered > 0 && last.answered > 0 &&
		float64(last.waited)/float64(last.answered) < overloadWait*float64(first.waited)/float64(first.answered) {
		return nil // slow from the first to the last, as a long poll is
	}
	all := sum(0, n)
	seconds := (time.Duration(n-n/2) * time.Duration(f.interval)).Seconds()
	o := &Overload{
		Asked: float64(half.due) / seconds, Answered: float64(half.answered) / seconds,
		Backlog: all.due - all.ended,
	}
	if rate > 0 && math.Abs(o.Asked/rate-1) < .02 {
		o.Asked = rate
	}
	o.Generator = max(float64(behind)/1e9*o.Asked, float64(skipped)) > float64(o.Backlog)/2
	o.Text = o.sentence()
	return o
}
