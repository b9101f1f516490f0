package reqtrace

import (
	"math"
	"slices"
	"testing"

	"golang.org/x/exp/trace"
)

// TestSamples: samples count where running is booked: of the request's own goroutine, of a child
// that it waits for, and of nobody else.
func TestSamples(t *testing.T) {
	s := newScript(t, 4)
	s.at(10).born(1)
	sample := func(g int, f string) {
		feed(s, g, trace.EventStackSample, trace.StackSample{}, stack(f, "main.handle"))
	}
	s.at(100).wake(0, 1).run(1, 1).begin(1).create(1, 2).create(0, 3).run(2, 2).run(3, 3)
	s.at(110)
	sample(1, "main.own")
	s.at(120).wait(1, "chan receive", "main.handle")
	s.at(130)
	sample(2, "main.child")
	s.at(140)
	sample(2, "main.child")
	sample(3, "main.stranger")
	feed(s, 0, trace.EventStackSample, trace.StackSample{}, stack("runtime.schedule"))
	s.at(150).wake(2, 1).run(1, 1)
	sample(2, "main.child") // it does not wait any more
	s.at(200).end(1).wait(1, "network", "main.serve")
	s.one()
	at := map[siteID]int{}
	for _, x := range s.m.turns.done[0].samples {
		at[x.site] += x.n
	}
	list := s.m.sites.samples(at)
	if len(list) != 2 || list[0].Site != "main.child (x.go:7)" || list[0].Count != 2 ||
		list[1].Site != "main.own (x.go:7)" || list[1].Count != 1 || s.m.samples != 6 {
		t.Errorf("%+v, of %d", list, s.m.samples)
	}
	if x := list[0]; math.Abs(x.Share-2./3) > 1e-9 || x.Low > x.Share || x.High < x.Share || x.Low < .2 ||
		x.High > .95 {
		t.Errorf("%+v", x)
	}
}

// TestSampleClass: a request that only ran has its class from a sample's stack, and the next one on
// the connection has its own.
func TestSampleClass(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).born(1)
	for i, handler := range []string{"main.report", "", "net/http.(*ServeMux).findHandler"} {
		at := int64(100 + 100*i)
		s.at(at).wake(0, 1).run(1, 1).begin(1).at(at + 10)
		if handler != "" {
			feed(s, 1, trace.EventStackSample, trace.StackSample{}, stack("gcWriteBarrier",
				handler, "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP",
				"net/http.(*conn).serve"))
		}
		s.at(at+50).end(1).wait(1, "network", "main.serve")
		if x := s.m.turns.done[i].samples; i == 0 &&
			(len(x) != 1 || s.m.sites.name(x[0].site) != "main.report (x.go:7)") {
			t.Errorf("%+v", x)
		}
	}
	var classes []string
	for _, r := range s.m.turns.done {
		classes = append(classes, s.m.sites.name(r.class))
	}
	if !slices.Equal(classes, []string{"main.report", "", ""}) {
		t.Errorf("%q", classes)
	}
}

// TestWilson holds the interval to published figures (Newcombe, Statistics in Medicine 17, 1998,
// table I), and to what the comment of EnoughSamples says.
func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		n, all    int
		low, high float64
	}{
		{81, 263, .2553, .3662},
		{15, 148, .0624, .1605},
		{0, 20, 0, .1611},
		{1, 29, .0061, .1718},
		{10, 20, .2993, .7007},
		{10, 19, .3171, .7267},
		{18, 19, .7536, .9906},
		{EnoughSamples, EnoughSamples, .5655, 1},
		{0, EnoughSamples - 1, 0, .4899},
		{0, 0, 0, 1},
	} {
		if low, high := wilson(tt.n, tt.all); math.Abs(low-tt.low) > 1e-3 || math.Abs(high-tt.high) > 1e-3 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tt.n, tt.all, low, high, tt.low, tt.high)
		}
	}
}

// TestRan tests that without a CPU profile, preemptions during work for a request say where it ran
// most.
func TestRan(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).born(1)
	s.at(100).wake(0, 1).run(1, 1).begin(1)
	for i, f := range []string{"main.parse", "main.hash", "main.hash"} {
		s.at(int64(110+10*i)).off(1, trace.GoRunnable, "preempted", "runtime.asyncPreempt", f, "main.handle").run(1, 1)
	}
	s.at(200).end(1).wait(1, "network", "main.serve")
	s.one()
	if got := s.m.turns.done[0].out(s.m).Ran; got != "main.hash"+at {
		t.Errorf("Ran is %q", got)
	}
}

// TestHolderBySamples tests that a holder with too few samples of a CPU profile was descheduled,
// and that one with enough, or one too short to tell, was not. A hold that several requests wait
// for counts once.
func TestHolderBySamples(t *testing.T) {
	for name, tt := range map[string]struct {
		held    int64 // µs
		samples int
		want    Cause // that the holder did
	}{
		"no sample in 50 ms":   {50_000, 0, CauseDescheduled},
		"no sample in 30 ms":   {30_000, 0, CauseRunning},
		"3 samples in 50 ms":   {50_000, 3, CauseRunning},
		"3 samples in 200 ms":  {200_000, 3, CauseDescheduled},
		"20 samples in 200 ms": {200_000, 20, CauseRunning},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 4)
			s.at(10).born(1).born(3).create(0, 2).run(2, 2)
			feed(s, 2, trace.EventStackSample, trace.StackSample{}, stack("main.before")) // a profile runs
			s.at(100).wake(0, 1).run(1, 1).begin(1).wake(0, 3).run(3, 3).begin(3)
			s.at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.ask").wait(3, "sync", "sync.(*Mutex).Lock",
				"main.ask")
			for i := range int64(tt.samples) {
				s.at(120 + i*(tt.held-20)/int64(tt.samples))
				feed(s, 2, trace.EventStackSample, trace.StackSample{}, stack("main.refresh"))
			}
			s.at(110 + tt.held)
			for _, g := range []int{1, 3} {
				s.move(2, g, trace.GoWaiting, trace.GoRunnable, "",
					stack("sync.(*Mutex).Unlock", "main.refresh")).run(g, g)
				s.end(g).wait(g, "network", "main.serve")
			}
			q := s.m.turns.done[0]
			r := q.out(s.m)
			if len(r.Sites) == 0 || r.Sites[0].Cause != CauseLock || r.Sites[0].Doing != tt.want {
				t.Errorf("%+v", r.Sites)
			}
		})
	}
}
