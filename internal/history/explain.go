package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

const (
	maxExplained = 4096
	maxCalls     = 256 // of a request
)

type Trace struct {
	Threshold time.Duration `json:"threshold_ns"` // longer requests are slow
	Snapshot  string        `json:"snapshot,omitempty"`
	Build     string        `json:"build,omitempty"`
	Taken     time.Time     `json:"taken"`
	Usual     Usual         `json:"usual,omitempty"`
	Calls     bool          `json:"-"` // keep the ids of requests and of their calls
}

// Explained is what a trace says of its slow requests.
type Explained struct {
	Requests int       // that are whole
	Slow     []Request // by their ends
	Dropped  uint64
	Usual    Usual
}

func explain(requests iter.Seq2[reqtrace.Request, error], t *Trace) (*Explained, error) {
	if t.Threshold <= 0 {
		return nil, fmt.Errorf("history: Trace.Threshold is %v: write how long a request may take without being slow",
			t.Threshold)
	}
	x := explainer{trace: t, classes: map[string]*sample{}}
	for q, err := range requests {
		if err != nil {
			return x.explained(), err
		}
		x.add(&q)
	}
	return x.explained(), nil
}

type explainer struct {
	trace   *Trace
	classes map[string]*sample
	slow    []slowRequest
	out     Explained
	end     time.Duration
}

type slowRequest struct {
	Request
	at    time.Duration
	parts reqtrace.Parts
	sites []reqtrace.Blame
	ran   string
}

func (x *explainer) add(q *reqtrace.Request) {
	x.end = max(x.end, q.End)
	if q.Cut == "" {
		x.out.Requests++
		x.sampleOf(q.Class).add(q)
	}
	switch {
	case q.Cut == reqtrace.CutEnd, q.Duration() <= x.trace.Threshold:
		return
	case len(x.slow) == maxExplained:
		x.out.Dropped++
		return
	}
	s := slowRequest{at: q.Start}
	s.Request = Request{
		// Its end, because the start of a cut one is not known. No goroutine ends two requests
		// within a microsecond.
		ID:   "g" + strconv.FormatInt(q.Goroutine, 10) + "@" + strconv.FormatInt(q.Clock/1000, 10),
		Mark: q.ID, Start: q.Began, Duration: q.Duration(), Snapshot: x.trace.Snapshot, Build: x.trace.Build,
		Key: Key{Class: q.Class},
	}
	if x.trace.Calls {
		s.Caller = q.Caller
		for _, c := range q.Calls {
			if c.ID != "" && len(s.Calls) < maxCalls {
				s.Calls = append(s.Calls, Call{shorten(c.ID), c.Start - q.Start})
			}
		}
	}
	if q.Cut == reqtrace.CutStart {
		s.Cut = true
	} else {
		s.parts, s.sites, s.ran = joined(q.Parts), q.Sites, q.Ran
		unmarked := *q // Mark has the id
		unmarked.ID = ""
		s.Breakdown = verdict.Breakdown(&unmarked)
	}
	x.slow = append(x.slow, s)
}

func (x *explainer) explained() *Explained {
	x.out.Usual = Usual{}
	for name, c := range x.classes {
		if u, ok := c.usual(x.trace.Threshold); ok && name != Others {
			x.out.Usual[name] = u
		}
	}
	for i := range x.slow {
		s := &x.slow[i]
		if s.Start.IsZero() {
			s.Start = x.trace.Taken.Add(s.at - x.end)
		}
		if !s.Cut {
			x.explain(s)
		}
		x.out.Slow = append(x.out.Slow, s.Request.bounded())
	}
	return &x.out
}

func (x *explainer) explain(s *slowRequest) {
	usual := x.usualOf(s.Key.Class)
	s.Key.Cause, s.Lost = mostBeyond(&s.parts, &usual)
	if s.Lost == 0 { // the threshold was higher when the usual requests were seen
		s.Key.Cause, s.Lost = mostBeyond(&s.parts, &reqtrace.Parts{})
	}
	s.Words = verdict.Phrase(s.Key.Cause)
	b := mostOf(s.sites, s.Key.Cause)
	if b == nil && s.Key.Cause == reqtrace.CauseRunning && s.ran != "" {
		b = &reqtrace.Blame{Cause: s.Key.Cause, Site: s.ran}
	}
	if b != nil {
		s.Key.Function, s.Key.Holder = verdict.Function(b.Site), verdict.Function(b.Holder)
		s.Words, s.Place, s.HolderPlace = verdict.Words(b), b.Site, b.Holder
	}
}

func mostBeyond(parts, usual *reqtrace.Parts) (cause reqtrace.Cause, lost time.Duration) {
	for c, d := range parts.All() {
		if more := d - usual.Of(c); more > lost {
			cause, lost = c, more
		}
	}
	return cause, lost
}

func (x *explainer) usualOf(class string) reqtrace.Parts {
	u, ok := x.out.Usual[class]
	if !ok {
		u = x.trace.Usual[class]
	}
	return u.mean()
}

func joined(p reqtrace.Parts) (sum reqtrace.Parts) {
	for c, d := range p.All() {
		sum.Add(verdict.Joined(c), d)
	}
	return sum
}

// mostOf returns the largest place of the function and holder that most of a cause has.
func mostOf(sites []reqtrace.Blame, c reqtrace.Cause) (most *reqtrace.Blame) {
	type pair struct{ function, holder string }
	pairOf := func(b *reqtrace.Blame) pair { return pair{verdict.Function(b.Site), verdict.Function(b.Holder)} }
	sums := map[pair]time.Duration{}
	for i := range sites {
		if b := &sites[i]; verdict.Joined(b.Cause) == c {
			sums[pairOf(b)] += b.Time
		}
	}
	for i := range sites { // the largest first
		b := &sites[i]
		if verdict.Joined(b.Cause) == c && (most == nil || sums[pairOf(b)] > sums[pairOf(most)]) {
			most = b
		}
	}
	return most
}

// Explain explains the slow requests of a trace, up to 4,096. Each goes to the cause that took most
// beyond what it takes of the usual request of its class. The usual requests are those of the trace
// if it has 20 of the class, else those of Trace.Usual. A class whose usual request is slow is
// compared with nothing.
func (h *Head) Explain(ctx context.Context, r io.Reader, o reqtrace.Options) (*Explained, error) {
	o.Beside = &cpuwatch.Beside{CPU: h.CPU}
	e, err := explain(reqtrace.Read(ctx, r, o), &h.Trace)
	_, none := errors.AsType[*reqtrace.NoRequestsError](err)
	switch {
	case none:
		return &Explained{}, nil
	case errors.Is(err, reqtrace.ErrBroken) && e.Requests+len(e.Slow) > 0:
		return e, nil
	}
	return e, err
}

const (
	maxClasses  = 64 // in a trace and in an hour
	sampleSize  = 512
	usualLeast  = 20
	usualLow    = .45 // as in [reqtrace.Report].Median
	usualHigh   = .55
	usualEnough = 200 // requests, after which older hours do not matter
)

type Usual map[string]usualRequest

// usualRequest is the sum of some requests around the median, without times in which the machine
// stood still.
type usualRequest struct {
	Requests uint64         `json:"requests"`
	Parts    reqtrace.Parts `json:"parts_ns"`
}

// add leaves out what cannot be, whatever was read.
func (u *usualRequest) add(v usualRequest) {
	sum := usualRequest{u.Requests + v.Requests, u.Parts}
	for c, d := range v.Parts.All() {
		sum.Parts.Add(c, d)
	}
	if v.possible() && sum.possible() {
		*u = sum
	}
}

func (u *usualRequest) possible() bool {
	for _, d := range u.Parts.All() {
		if d < 0 || d > maxTime {
			return false
		}
	}
	return u.Requests > 0 && u.Requests <= maxNumber
}

func (u *usualRequest) mean() (p reqtrace.Parts) {
	for c, d := range u.Parts.All() {
		p.Add(c, d/time.Duration(max(u.Requests, 1)))
	}
	return p
}

type sample struct {
	seen   int
	kept   []sampled
	random *rand.Rand
}

type sampled struct {
	own   time.Duration
	parts reqtrace.Parts
}

func (x *explainer) sampleOf(class string) *sample {
	c := x.classes[class]
	if c == nil && len(x.classes) >= maxClasses {
		class = Others
		c = x.classes[class]
	}
	if c == nil {
		c = &sample{random: rand.New(rand.NewPCG(1, 2))} // the same trace says the same
		x.classes[class] = c
	}
	return c
}

func (s *sample) add(q *reqtrace.Request) {
	s.seen++
	at := len(s.kept)
	if at == sampleSize {
		if at = s.random.IntN(s.seen); at >= sampleSize {
			return
		}
	} else {
		s.kept = append(s.kept, sampled{})
	}
	stalled := q.Parts.Of(reqtrace.CauseMachine)
	p := joined(q.Parts)
	p.Add(reqtrace.CauseMachine, -stalled)
	s.kept[at] = sampled{q.Duration() - stalled, p}
}

// usual is not ok if the requests are too few, or slow.
func (s *sample) usual(threshold time.Duration) (u usualRequest, ok bool) {
	n := len(s.kept)
	if n < usualLeast {
		return u, false
	}
	slices.SortFunc(s.kept, func(a, b sampled) int { return cmp.Compare(a.own, b.own) })
	if s.kept[n/2].own > threshold {
		return u, false
	}
	for _, k := range s.kept[int(usualLow*float64(n)):int(usualHigh*float64(n))] {
		u.add(usualRequest{1, k.parts})
	}
	return u, true
}
