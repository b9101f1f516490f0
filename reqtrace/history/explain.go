package history

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// maxExplained is how many slow requests of a trace are explained; the rest are counted ([Explained].Dropped).
const maxExplained = 4096

// Trace says which trace the requests of [Explain] come from. It marshals to JSON and back.
type Trace struct {
	Threshold time.Duration `json:"threshold_ns"`       // a request that takes longer is slow; more than 0
	Snapshot  string        `json:"snapshot,omitempty"` // name of the trace, so that readers find it
	Build     string        `json:"build,omitempty"`    // of the service
	// about when it ended; used only if the trace has no wall clock (before Go 1.25)
	Taken time.Time `json:"taken"`
	// what usual requests took in the hours before ([Store.Usual]), for classes of which the trace has few
	Usual Usual `json:"usual,omitempty"`
}

// Explained is what a trace says of its slow requests. It marshals to JSON and back: a process may
// explain what another adds to its history.
type Explained struct {
	Requests int `json:"requests"` // that the trace has whole
	// in the order of their ends; those too that began before the trace and are slow by what is seen of them
	Slow    []Request    `json:"slow"`
	Dropped uint64       `json:"dropped,omitempty"`
	Usual   Usual `json:"usual,omitempty"` // what usual requests of the trace took
}

// explain explains the slow requests of one trace, as [Head.Explain] does. If requests end with an
// error, explain returns it with what came before.
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

// explainer collects the requests of a trace.
type explainer struct {
	trace   *Trace
	classes map[string]*sample
	slow    []slowRequest
	out     Explained
	end     time.Duration // of the last request, from the start of the trace
}

// slowRequest is a request that cannot be explained before the usual ones are known.
type slowRequest struct {
	Request
	at    time.Duration // from the start of the trace
	parts reqtrace.Parts
	sites []reqtrace.Blame
	ran   string
}

func (x *explainer) add(q *reqtrace.Request) {
	x.end = max(x.end, q.End)
	if q.Cut == reqtrace.CutNone {
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
		// Its end, as the start of one that is cut off is not known. To a microsecond: nothing ends
		// two requests within one.
		ID:   "g" + strconv.FormatInt(q.Goroutine, 10) + "@" + strconv.FormatInt(q.Clock/1000, 10),
		Mark: q.ID, Start: q.Began, Duration: q.Duration(), Snapshot: x.trace.Snapshot, Build: x.trace.Build,
		Key: Key{Class: q.Class},
	}
	if q.Cut == reqtrace.CutStart {
		s.Cut = true
	} else {
		s.parts, s.sites, s.ran = joined(q.Parts), q.Sites, q.Ran
		unmarked := *q // Mark has the id, and a recorder's own number in it is nobody's business
		unmarked.ID = ""
		s.Breakdown, s.Path = verdict.Breakdown(&unmarked), stepsOf(q.Path)
	}
	x.slow = append(x.slow, s)
}

// explained says what all of them say.
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
	worst := map[Key]*Request{}
	for i := range x.out.Slow {
		r := &x.out.Slow[i]
		if w := worst[r.Key]; w == nil || compareWorst(r, w) < 0 {
			worst[r.Key] = r
		}
	}
	for i := range x.out.Slow {
		if r := &x.out.Slow[i]; worst[r.Key] != r {
			r.Path = nil
		}
	}
	return &x.out
}

// explain finds the cause of a slow request.
func (x *explainer) explain(s *slowRequest) {
	var usual reqtrace.Parts
	usual, s.Against = x.usualOf(s.Key.Class)
	for c, d := range s.parts.All() {
		if more := d - usual.Of(c); more > s.Lost {
			s.Key.Cause, s.Lost = c, more
		}
	}
	if s.Lost == 0 && s.Against != "" {
		// as where the threshold was higher when the usual requests were seen
		s.Against = ""
		for c, d := range s.parts.All() {
			if d > s.Lost {
				s.Key.Cause, s.Lost = c, d
			}
		}
	}
	s.Words = verdict.Phrase(s.Key.Cause)
	b := mostOf(s.sites, s.Key.Cause)
	if b == nil && s.Key.Cause == reqtrace.CauseRunning && s.ran != "" {
		b = &reqtrace.Blame{Cause: s.Key.Cause, Site: s.ran}
	}
	if b != nil {
		s.Key.Function, s.Key.Holder = functionOf(b.Site), functionOf(b.Holder)
		s.Words, s.Place, s.HolderPlace, s.Doing = verdict.Words(b), b.Site, b.Holder, doing(b)
	}
}

// usualOf returns what the usual request of a class takes, by causes.
func (x *explainer) usualOf(class string) (usual reqtrace.Parts, against string) {
	if u, ok := x.out.Usual[class]; ok {
		return u.mean(), againstSnapshot
	}
	if u, ok := x.trace.Usual[class]; ok && u.Requests > 0 {
		return u.mean(), againstHistory
	}
	return reqtrace.Parts{}, ""
}

// joined returns p with both kinds of assist as one: which it is depends on how busy the
// collector's workers are, not on the program.
func joined(p reqtrace.Parts) (sum reqtrace.Parts) {
	for c, d := range p.All() {
		sum.Add(kin(c), d)
	}
	return sum
}

func kin(c reqtrace.Cause) reqtrace.Cause {
	if c == reqtrace.CauseAssistWait {
		return reqtrace.CauseAssistMark
	}
	return c
}

// mostOf returns the largest of those places of a cause that have the function and the holder in
// common which most of it has; nil: no place is known.
func mostOf(sites []reqtrace.Blame, c reqtrace.Cause) (most *reqtrace.Blame) {
	type pair struct{ function, holder string }
	sums, largest := map[pair]time.Duration{}, map[pair]*reqtrace.Blame{}
	for i := range sites {
		b := &sites[i]
		if kin(b.Cause) != c {
			continue
		}
		p := pair{functionOf(b.Site), functionOf(b.Holder)}
		sums[p] += b.Time
		if largest[p] == nil {
			largest[p] = b // sites come in the order of their times
		}
	}
	var best pair
	for p, b := range largest {
		if d := cmp.Or(cmp.Compare(sums[p], sums[best]), cmp.Compare(best.function, p.function),
			cmp.Compare(best.holder, p.holder)); most == nil || d > 0 {
			best, most = p, b
		}
	}
	return most
}

// functionOf returns the function of a place: "main.look" of "main.look (look.go:12)".
func functionOf(site string) string {
	f, _, _ := strings.Cut(site, " (")
	return f
}

// doing says what the holder of something did, and where; "": not known.
func doing(b *reqtrace.Blame) string {
	if b.Doing == reqtrace.CauseUnknown {
		return ""
	}
	t := b.Doing.String()
	if b.DoingOp != "" && b.DoingOp != t {
		t += ", " + b.DoingOp
	}
	if b.DoingAt != "" {
		t += " at " + b.DoingAt
	}
	return t
}

const (
	maxSteps  = 10
	finePiece = 1. / 64 // of a path: shorter pieces that follow one another are put together first
)

// stepsOf returns a path in a few steps: neighbours of one cause and place are one, and the
// shortest become part of a neighbour.
func stepsOf(path []reqtrace.Tile) []Step {
	if len(path) == 0 {
		return nil
	}
	fine := time.Duration(float64(path[len(path)-1].End-path[0].Start) * finePiece)
	var steps []Step
	for i := range path {
		t := &path[i]
		step := Step{kin(t.Cause), t.End - t.Start, cmp.Or(t.Site, t.Holder)}
		if n := len(steps); n > 0 && (steps[n-1].Cause == step.Cause && steps[n-1].Place == step.Place ||
			steps[n-1].Time < fine && step.Time < fine) {
			steps[n-1] = steps[n-1].with(step)
			continue
		}
		steps = append(steps, step)
	}
	for len(steps) > maxSteps {
		shortest := 0
		for i := range steps {
			if steps[i].Time < steps[shortest].Time {
				shortest = i
			}
		}
		into := shortest - 1
		if into < 0 || shortest+1 < len(steps) && steps[shortest+1].Time < steps[into].Time {
			into = shortest + 1
		}
		first := min(into, shortest)
		steps[first] = steps[first].with(steps[first+1])
		steps = slices.Delete(steps, first+1, first+2)
	}
	return steps
}

// with returns s and its neighbour as one step, which is called as the longer of them.
func (s Step) with(t Step) Step {
	sum := s.Time + t.Time
	if t.Time > s.Time {
		s = t
	}
	s.Time = sum
	return s
}
