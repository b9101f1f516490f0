package reqtrace

import (
	"cmp"
	"slices"
	"testing"

	"golang.org/x/exp/trace"
)

// record adds a request that arrives at at and has these bursts.
func (p *replay) record(at int64, bursts ...burst) {
	p.begin(at, 0, 0, false)
	for _, b := range bursts {
		p.now, p.filled = b, true
		p.flush()
	}
	p.end()
}

func TestSimulate(t *testing.T) {
	for name, c := range map[string]struct {
		procs   int
		fill    func(p *replay)
		with    []int64
		without []int64
	}{
		"alone": {
			1, func(p *replay) { p.record(0, burst{cpu: 10, gc: 5, wait: 100, waitGC: 7}, burst{cpu: 1}) },
			[]int64{123},
			[]int64{111},
		},
		"queue": {1, func(p *replay) {
			for i := range int64(3) {
				p.record(i, burst{cpu: 10})
			}
		}, []int64{10, 19, 28}, []int64{10, 19, 28}},
		"two processors": {2, func(p *replay) {
			for range 3 {
				p.record(0, burst{cpu: 10})
			}
		}, []int64{10, 10, 20}, []int64{10, 10, 20}},
		"others": {
			1, func(p *replay) { p.other(job{at: 0, ns: 30, gc: 3}); p.record(5, burst{cpu: 10}) },
			[]int64{38},
			[]int64{35},
		},
		"a mark worker": {2, func(p *replay) {
			p.markers = []job{{at: 0, ns: 1000}}
			p.record(1, burst{cpu: 10})
			p.record(2, burst{cpu: 10})
		}, []int64{10, 19}, []int64{10, 10}},
		"a stop": {
			2, func(p *replay) { p.stops = []job{{at: 0, ns: 50}}; p.record(20, burst{cpu: 10}) },
			[]int64{40},
			[]int64{10},
		},
		"who waits gives way": {1, func(p *replay) {
			p.record(0, burst{cpu: 10, wait: 20}, burst{cpu: 5})
			p.record(1, burst{cpu: 12})
		}, []int64{21, 35}, []int64{21, 35}},
		"nothing to compute": {1, func(p *replay) {
			p.other(job{at: 0, ns: 1000})
			p.record(1, burst{wait: 9})
		}, []int64{9}, []int64{9}},
	} {
		t.Run(name, func(t *testing.T) {
			var p replay
			c.fill(&p)
			p.recorded()
			if got := p.simulate(c.procs, true).times; !slices.Equal(got, c.with) {
				t.Errorf("with the collector: %v, want %v", got, c.with)
			}
			if got := p.simulate(c.procs, false).times; !slices.Equal(got, c.without) {
				t.Errorf("without: %v, want %v", got, c.without)
			}
		})
	}
}

// TestByArrival: requests come in order, and those in theirs that arrived together, few out of place or all of them.
func TestByArrival(t *testing.T) {
	for _, length := range []int64{0, 5, 1000} {
		var r []replayed
		for end := range int64(1000) {
			r = append(r, replayed{end/2 - end%7*length/7, spot(end)})
		}
		want := slices.Clone(r)
		slices.SortStableFunc(want, func(a, b replayed) int { return cmp.Compare(a.arrival, b.arrival) })
		if byArrival(r); !slices.Equal(r, want) {
			t.Errorf("length %d: not in order", length)
		}
	}
}

// TestRecorded: what the model sees of a request and of the rest is what is replayed.
func TestRecorded(t *testing.T) {
	s := newScript(t, 2)
	s.m.record()
	s.at(10).create(0, 2).run(2, 2)
	serve(s)
	s.at(110).rangeOf(1, trace.EventRangeBegin, "GC mark assist", "main.grow")
	s.at(120).rangeOf(1, trace.EventRangeEnd, "GC mark assist")
	s.at(130).wait(1, "network", "main.ask").at(200).wake(0, 1).at(230).run(1, 1)
	s.at(240).wait(2, "chan receive", "main.other")
	done(s.at(250))
	p := s.m.replay
	p.recorded()
	c := p.bursts.at(p.requests[0].first)
	if early := c.next(); early != 0 {
		t.Errorf("it came early, by %d", early)
	}
	if took := c.next(); took != 150_000 {
		t.Errorf("it took %d", took)
	}
	var got []int64
	for b, more := c.nextBurst(); more; b, more = c.nextBurst() {
		got = append(got, b.cpu/1000, b.gc/1000, b.wait/1000, b.waitGC/1000)
	}
	if want := []int64{20, 10, 100, 0, 20, 0, 0, 0}; !slices.Equal(got, want) { // cpu, gc, wait, waitGC; 30 of the way to an idle processor
		t.Errorf("bursts %v, want %v", got, want)
	}
	others, last := jobs{rest: p.others}, job{}
	for j, ok := others.next(); ok; j, ok = others.next() {
		last = j
	}
	if last.at != 10_000 || last.ns != 230_000 {
		t.Errorf("the last of others: %+v", last)
	}
}

func TestCauses(t *testing.T) {
	for c := range numCauses {
		text, _ := c.MarshalText()
		var back Cause
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Errorf("%v: %v, %v", c, back, err)
		}
	}
	if _, err := ParseCause("gremlins"); err == nil {
		t.Error("no error")
	}
}

func TestForecast(t *testing.T) {
	sorted := func(p99 int64) []int64 { return slices.Repeat([]int64{p99}, 100) }
	of := func(p99 int64) *simulated { return &simulated{times: sorted(p99)} }
	if w := newWhatIf(quantiles(sorted(20)), of(25), of(5)); w.Forecast != 4 || w.ModelError != .25 {
		t.Errorf("%+v", w)
	}
	if w := newWhatIf(quantiles(sorted(20)), &simulated{}, &simulated{}); w.Forecast != 0 {
		t.Errorf("nothing was replayed: %+v", w)
	}
}
