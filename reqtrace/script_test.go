package reqtrace

import (
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace/internal/mark"
)

// script feeds a model with events made by hand. Times are microseconds. A goroutine runs on the
// processor that has its number, unless it says otherwise.
type script struct {
	t    testing.TB
	m    *model
	now  int64
	proc map[int]int
	kept *[]trace.Event // events are kept here until play; nil: the model has them at once
}

func newScript(t testing.TB, procs int) *script { return newScriptOf(t, procs, Options{}) }

func newScriptOf(t testing.TB, procs int, o Options) *script {
	t.Helper()
	m, err := newModel(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, m: m, proc: map[int]int{}}
	s.at(1)
	feed(s, 0, trace.EventMetric, trace.Metric{
		Name:  "/sched/gomaxprocs:threads",
		Value: trace.Uint64Value(uint64(procs)),
	}, trace.NoStack)
	return s
}

// at sets the time of what follows.
func (s *script) at(us int64) *script { s.now = us; return s }

func feed[T trace.EventDetails](s *script, g int, kind trace.EventKind, details T, stack trace.Stack) {
	s.t.Helper()
	c := trace.EventConfig[T]{
		Time: trace.Time(s.now * 1000), Kind: kind, Goroutine: trace.GoID(g), Proc: trace.NoProc,
		Stack: stack, Details: details,
	}
	if g == 0 {
		c.Goroutine = trace.NoGoroutine
	}
	if p, ok := s.proc[g]; ok {
		c.Proc, c.Thread = trace.ProcID(p), trace.ThreadID(100+p)
	}
	e, err := trace.MakeEvent(c)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.kept != nil {
		*s.kept = append(*s.kept, e)
		return
	}
	s.m.event(&e)
}

// keep has the events kept, for a model that looks ahead to judge a silence; play hands them on.
func (s *script) keep() *script { s.kept = &[]trace.Event{}; return s }

func (s *script) play() *script {
	s.t.Helper()
	rest := *s.kept
	for len(rest) > 0 {
		done := s.m.turns.done
		s.m.turns.done = nil
		n, more, err := s.m.take(rest, true)
		if err != nil || !more {
			s.t.Fatal(more, err)
		}
		s.m.turns.done = append(done, s.m.turns.done...)
		rest = rest[n:]
	}
	s.kept = nil
	return s
}

// processor takes a processor on or off.
func (s *script) processor(p int, from, to trace.ProcState) {
	s.t.Helper()
	feed(s, 0, trace.EventStateTransition, trace.MakeProcStateTransition(trace.ProcID(p), from, to), trace.NoStack)
}

// stack is a stack of functions, innermost first.
func stack(funcs ...string) trace.Stack {
	var frames []trace.StackFrame
	for i, f := range funcs {
		file := "/src/x.go"
		if root, _, ok := strings.Cut(f, "/"); ok && strings.Contains(root, ".") { // a library's
			file = "/pkg/mod/" + packageOf(f) + "@v1.0.0/x.go"
		}
		frames = append(frames, trace.StackFrame{PC: uint64(i + 1), Func: f, File: file, Line: 7})
	}
	return trace.MakeStack(frames)
}

func (s *script) move(by, g int, from, to trace.GoState, reason string, st trace.Stack) *script {
	s.t.Helper()
	tr := trace.MakeGoStateTransition(trace.GoID(g), from, to)
	tr.Reason, tr.Stack = reason, st
	feed(s, by, trace.EventStateTransition, tr, st)
	return s
}

func (s *script) create(by, g int) *script {
	return s.move(by, g, trace.GoNotExist, trace.GoRunnable, "", stack("main.entry"))
}

// run starts g on processor p.
func (s *script) run(g, p int) *script {
	s.t.Helper()
	s.proc[g] = p
	s.processor(p, trace.ProcIdle, trace.ProcRunning)
	return s.move(g, g, trace.GoRunnable, trace.GoRunning, "", trace.NoStack)
}

// off takes g off its processor, which goes idle unless somebody else starts at once.
func (s *script) off(g int, to trace.GoState, reason string, funcs ...string) *script {
	s.t.Helper()
	s.move(g, g, trace.GoRunning, to, reason, stack(funcs...))
	s.processor(s.proc[g], trace.ProcRunning, trace.ProcIdle)
	delete(s.proc, g)
	return s
}

func (s *script) wait(g int, reason string, funcs ...string) *script {
	return s.off(g, trace.GoWaiting, reason, funcs...)
}

func (s *script) wake(by, g int) *script {
	return s.move(by, g, trace.GoWaiting, trace.GoRunnable, "", trace.NoStack)
}

// born makes a goroutine that waits for the network, as a connection does.
func (s *script) born(g int) *script {
	return s.create(0, g).run(g, g).wait(g, "network", "internal/poll.(*FD).Read", "main.serve")
}

func (s *script) begin(g int) *script {
	feed(s, g, trace.EventRegionBegin, trace.Region{Type: mark.Region}, trace.NoStack)
	return s
}

func (s *script) end(g int) *script {
	feed(s, g, trace.EventRegionEnd, trace.Region{Type: mark.Region}, trace.NoStack)
	return s
}

func (s *script) rangeOf(g int, kind trace.EventKind, name string, funcs ...string) *script {
	scope := trace.MakeResourceID(trace.GoID(g))
	if name == "GC incremental sweep" {
		scope = trace.MakeResourceID(trace.ProcID(s.proc[g]))
	}
	feed(s, g, kind, trace.Range{Name: name, Scope: scope}, stack(funcs...))
	return s
}

// one returns the only request that is done.
func (s *script) one() Request {
	s.t.Helper()
	if len(s.m.turns.done) != 1 {
		s.t.Fatalf("%d requests are done", len(s.m.turns.done))
	}
	q := s.m.turns.done[0]
	r := q.out(s.m)
	if r.Parts.Total() != r.Duration() || r.Cut != "" {
		s.t.Fatalf("%+v", r)
	}
	var places Parts
	for _, b := range r.Sites {
		places.Add(b.Cause, b.Time)
	}
	for c, d := range r.Parts.All() { // each nanosecond of a cause that has places is at one of them
		if p := places.Of(c); p > d || p != d &&
			len(r.Sites) < maxSites && (c == CauseLock || c == CauseChannel || c == CauseNetwork || c == CauseSyscall ||
			c == CauseSleep) {
			s.t.Fatalf("%v: %v at places of %v: %+v", c, p, d, r)
		}
	}
	return r
}

// want checks the parts of the only request, in microseconds, and that there are no others.
func (s *script) want(parts map[Cause]int64) Request {
	s.t.Helper()
	r := s.one()
	for _, c := range Causes() {
		if d, want := r.Parts.Of(c), time.Duration(parts[c])*time.Microsecond; d != want {
			s.t.Errorf("%v: %v, want %v", c, d, want)
		}
	}
	return r
}

// took reports whether a place took a time for a cause.
func took(b Blame, c Cause, site string, d time.Duration) bool {
	return b.Cause == c && b.Site == site && b.Time == d
}

// TestSearchBack: it finds what sort.Search finds, wherever that is.
func TestSearchBack(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		for first := range n + 1 {
			f := func(i int) bool { return i >= first }
			if got, want := searchBack(n, f), sort.Search(n, f); got != want {
				t.Fatalf("of %d, from %d on: %d, want %d", n, first, got, want)
			}
		}
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
