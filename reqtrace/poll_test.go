package reqtrace

import (
	"slices"
	"testing"

	"golang.org/x/exp/trace"
)

// TestPoll: what one look at the network finds after the collector has kept the only processor
// from it came at any time before, for the replay without the collector.
func TestPoll(t *testing.T) {
	const end = 10_300 // µs: sysmon looks
	for name, tt := range map[string]struct {
		entry string // of the goroutine that has the processor until then
		idle  bool   // the processor is idle a while before that, and looks at once
		want  []int64
	}{
		"the sweeper":  {entry: "runtime.bgsweep", want: []int64{2822, 5315, 7807, 10300}},
		"the program":  {entry: "main.compute", want: []int64{10300, 10300, 10300, 10300}},
		"none, at all": {entry: "runtime.bgsweep", idle: true, want: []int64{10300, 10300, 10300, 10300}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 1)
			s.m.record()
			for g := 1; g <= 4; g++ {
				s.at(int64(10*g)).create(0, g).run(g, 0).wait(g, "network", peek...)
			}
			s.at(100).wake(0, 1).run(1, 0).syscall(1, 110, answer).at(120).wait(1, "network", peek...)
			s.at(300).wake(0, 1).run(1, 0).syscall(1, 310, answer).at(320).wait(1, "network", peek...)
			s.at(330).move(0, 9, trace.GoNotExist, trace.GoRunnable, "", stack(tt.entry)).run(9, 0)
			if tt.idle {
				s.at(9000).wait(9, "chan receive", tt.entry)
			}
			s.at(end)
			for g := 1; g <= 4; g++ {
				s.wake(0, g)
			}
			if !tt.idle {
				s.off(9, trace.GoRunnable, "runtime.Gosched", tt.entry)
			}
			for g := 1; g <= 4; g++ {
				now := int64(end + 20*g)
				s.at(now).run(g, 0).syscall(g, now+10, answer).at(now+15).wait(g, "network", peek...)
			}
			s.m.turns.end(s.m.goroutines, s.m.now)
			p := s.m.replay
			p.recorded()
			var got []int64
			for _, r := range p.arrivals(false)[2:] {
				got = append(got, r.arrival/1000)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("they came at %v, want %v", got, tt.want)
			}
			for _, r := range p.arrivals(true)[2:] {
				if r.arrival != end*1000 {
					t.Errorf("with the collector one is seen at %v", r.arrival)
				}
			}
			if p := s.m.turns.done[len(s.m.turns.done)-1].Parts; !tt.idle && tt.entry == "main.compute" && p.Of(CauseRunqueueGC) != 0 {
				t.Errorf("the collector had nothing: %v", p)
			}
		})
	}
}

// TestBehindSweeper: the background sweeper is the collector's, though no label says so, and so is
// who sweeps for an allocation.
func TestBehindSweeper(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).born(1)
	s.move(0, 9, trace.GoNotExist, trace.GoRunnable, "", stack("runtime.bgsweep")).create(0, 2).run(9, 1)
	s.at(100).wake(0, 1)
	s.at(150).off(9, trace.GoRunnable, "runtime.Gosched", "runtime.bgsweep").run(2, 1)
	s.at(160).rangeOf(2, trace.EventRangeBegin, "GC incremental sweep", "main.grow")
	s.at(190).rangeOf(2, trace.EventRangeEnd, "GC incremental sweep")
	s.at(195).wait(2, "chan receive", "main.other").run(1, 1).begin(1)
	done(s.at(205)).want(map[Cause]int64{CauseRunqueueGC: 80, CauseRunqueueBusy: 15, CauseRunning: 10})
}
