package reqtrace

import (
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/cpuwatch"
)

// TestMachine: a silence is the machine's where the program would have done something in it, and
// else whoever's it was. In each, goroutine 1 serves a request from 110 µs on, and there is a
// silence from 200 to 50200 µs.
func TestMachine(t *testing.T) {
	const end = 50_200
	others := func(s *script, by ...int) { // who waits for the network, and is there when the silence ends
		for i, g := range by {
			s.at(end+int64(i)*20).wake(0, g)
		}
	}
	for name, tt := range map[string]struct {
		procs  int
		before func(s *script) // at 200 µs
		after  func(s *script) // from 50200 µs on; goroutine 1 runs at the end
		stood  int64           // µs
		want   map[Cause]int64 // of the request, from 100 to 50300
	}{
		"runnable beside a free processor": {
			2,
			func(s *script) { s.wait(1, "sleep", "main.rest").wake(0, 1) },
			func(s *script) { s.at(end).run(1, 1) },
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"running, and the network piled up": {
			2,
			func(s *script) { s.begin(1).end(1) },
			func(s *script) { others(s, 11, 12, 13) },
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"running alone: code that cannot be interrupted": {
			2,
			func(*script) {},
			func(s *script) { s.at(end).begin(1).end(1) },
			0,
			map[Cause]int64{CauseRunning: 50_200},
		},
		"one processor, and nothing piled up": {
			1,
			func(*script) {},
			func(s *script) { s.at(end).wake(0, 11) },
			0,
			map[Cause]int64{CauseRunning: 50_200},
		},
		"a long copy beside a free processor, and senders were silent together": {
			2,
			func(s *script) {
				s.create(1, 2).run(2, 2).wait(1, "network", "main.rest")
				for at := int64(9_000); at < 30_000; at += 9_000 { // meanwhile the other processor serves
					s.at(at).wake(0, 11).run(11, 1).wait(11, "network", "main.serve")
				}
			},
			func(s *script) { others(s, 11, 12, 13); s.at(end).wake(0, 1).run(1, 1) },
			0,
			map[Cause]int64{CauseRunning: 200, CauseNetwork: 50_000},
		},
		"all processors, and all go on at once": {
			2,
			func(s *script) { s.create(1, 2).run(2, 2) },
			func(s *script) { s.at(end).begin(1).end(1); s.at(end+30).off(2, trace.GoRunnable, "", "main.busy") },
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"all processors, and one goes on": {
			2,
			func(s *script) { s.create(1, 2).run(2, 2) },
			func(s *script) { s.at(end).begin(1).end(1) },
			0,
			map[Cause]int64{CauseRunning: 50_200},
		},
		"the world is being stopped": {
			2,
			func(s *script) {
				s.create(1, 2).run(2, 2).rangeOf(2, trace.EventRangeBegin, "stop-the-world (GC sweep termination)")
			},
			func(s *script) {
				s.at(end).rangeOf(2, trace.EventRangeEnd, "stop-the-world (GC sweep termination)")
				others(s, 11, 12, 13)
			},
			0,
			map[Cause]int64{CauseRunning: 50_200},
		},
		"C beside idle processors": {
			2,
			func(s *script) { s.off(1, trace.GoSyscall, "", "runtime.cgocall", "main._Cfunc_step", "main.rest") },
			func(s *script) {
				s.at(end).move(0, 1, trace.GoSyscall, trace.GoRunnable, "", trace.NoStack).run(1, 1)
			},
			0,
			map[Cause]int64{CauseRunning: 200, CauseCgo: 50_000},
		},
		"waiting for the collector": {
			2,
			func(s *script) { // goroutine 2 is runnable meanwhile
				s.create(1, 2).rangeOf(1, trace.EventRangeBegin, "GC mark assist", "main.grow")
				s.wait(1, "GC mark assist wait for work", "runtime.gcAssistAlloc", "main.grow")
			},
			func(s *script) {
				s.at(end).run(2, 2).wake(2, 1).run(1, 1).rangeOf(1, trace.EventRangeEnd, "GC mark assist")
			},
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"an assist, which can be interrupted, beside a mark worker": {
			2,
			func(s *script) {
				s.create(1, 2).run(2, 2)
				feed(s, 2, trace.EventLabel, trace.Label{
					Label:    "GC (dedicated)",
					Resource: trace.MakeResourceID(trace.GoID(2)),
				}, trace.NoStack)
				s.rangeOf(1, trace.EventRangeBegin, "GC mark assist", "main.grow")
			},
			func(s *script) { s.at(end).rangeOf(1, trace.EventRangeEnd, "GC mark assist") },
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"an assist beside code that cannot be interrupted": {
			2,
			func(s *script) {
				s.create(1, 2).run(2, 2).rangeOf(1, trace.EventRangeBegin, "GC mark assist", "main.grow")
			},
			func(s *script) { s.at(end).rangeOf(1, trace.EventRangeEnd, "GC mark assist") },
			0,
			map[Cause]int64{CauseRunning: 200, CauseAssistMark: 50_000},
		},
		"all idle": {
			2,
			func(s *script) { s.wait(1, "sleep", "main.rest") },
			func(s *script) { s.at(end).wake(0, 1).run(1, 1) },
			0,
			map[Cause]int64{CauseRunning: 200, CauseSleep: 50_000},
		},
		"all idle, and three timers late": {
			2,
			func(s *script) {
				for g := 2; g <= 3; g++ {
					s.create(1, g).run(g, 2).wait(g, "sleep", "main.tick")
				}
				s.wait(1, "sleep", "main.rest")
			},
			func(s *script) { s.at(end); s.wake(0, 2).wake(0, 3).wake(0, 1).run(1, 1) },
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"all idle, and an answer comes after senders were silent": {
			2,
			func(s *script) { s.wait(1, "network", "main.rest") },
			func(s *script) { others(s, 11, 12, 13); s.at(end).wake(0, 1).run(1, 1) },
			0,
			map[Cause]int64{CauseRunning: 200, CauseNetwork: 50_000},
		},
		"all wait for one service, which answers them at once": {
			2,
			func(s *script) { s.wait(1, "network", "main.rest"); s.m.looks = 1000 },
			func(s *script) { others(s, 11, 12, 13); s.at(end).wake(0, 1).run(1, 1) },
			0,
			map[Cause]int64{CauseRunning: 200, CauseNetwork: 50_000},
		},
		"all wait for one service, and new requests piled up": {
			2,
			func(s *script) {
				for g := 11; g <= 13; g++ {
					s.wake(0, g).run(g, g)
					s.wait(g, "network", "internal/poll.(*FD).Read", "bufio.(*Reader).Peek", "net/http.(*conn).serve")
				}
				s.wait(1, "network", "main.rest")
				s.m.looks = 1000
			},
			func(s *script) { others(s, 11, 12, 13); s.at(end).wake(0, 1).run(1, 1) },
			50_000,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tt.procs)
			s.at(10)
			for g := 11; g <= 13; g++ {
				s.born(g)
			}
			s.born(1).keep()
			s.at(100).wake(0, 1).run(1, 1).begin(1)
			s.at(200)
			tt.before(s)
			tt.after(s)
			s.at(end+100).end(1).wait(1, "network", "main.serve")
			s.play()
			if r := s.m.machine; r.Time != time.Duration(tt.stood)*time.Microsecond || r.Stalls > 1 {
				t.Errorf("the machine stood still for %v, %d times; want %d µs", r.Time, r.Stalls, tt.stood)
			}
			s.want(tt.want)
		})
	}
}

// TestMachineLongPoll: a request that waits for long is no sign that one service holds up all others.
func TestMachineLongPoll(t *testing.T) {
	for name, tt := range map[string]struct {
		begins int64 // the wait of the other request
		stalls int
	}{"long": {300, 1}, "short": {190_000, 0}} {
		s := newScript(t, 2)
		s.at(10)
		for g := 11; g <= 13; g++ {
			s.born(g)
		}
		s.born(1).born(2).keep()
		s.at(100).wake(0, 2).run(2, 2).begin(2)
		if tt.begins > 300 { // it runs until then
			for at := int64(5000); at < tt.begins; at += 5000 {
				s.at(at).begin(2).end(2)
			}
		}
		s.at(tt.begins).wait(2, "chan receive", "main.poll")
		for at := tt.begins + 5000; at < 200_000; at += 5000 {
			s.at(at).wake(0, 11).run(11, 1).wait(11, "network", "main.read")
		}
		s.at(200_000).wake(0, 1).run(1, 1).begin(1).wait(1, "sleep", "main.rest")
		s.m.looks = 1000
		for g := 11; g <= 13; g++ {
			s.at(250_000+int64(g)).wake(0, g)
		}
		s.at(250_020).wake(0, 1).run(1, 1)
		s.at(250_100).end(1).wait(1, "network", "main.serve")
		s.play()
		if got := s.m.machine.Stalls; got != tt.stalls {
			t.Errorf("%s: %d stalls, want %d", name, got, tt.stalls)
		}
	}
}

// TestMachineBacklog: who waits for a processor behind what a stall has piled up waits for the
// machine, until one is idle again, and for as long again as the stall at most.
func TestMachineBacklog(t *testing.T) {
	var c clock
	c.max = 1
	c.run(0, 0, true)
	c.stalls = []stall{{a: 100, b: 200, drained: 200, open: true, cause: CauseMachine}}
	parts := func(a, b int64) (p Parts) { c.wait(&p, a, b); return p }
	if p := parts(50, 400); p.Of(CauseMachine) != 200 || p.Of(CauseRunqueueBusy) != 150 {
		t.Error(p)
	}
	c.run(230, 0, false)
	if p := parts(50, 400); p.Of(CauseMachine) != 130 || p.Of(CauseRunqueueBusy) != 50 ||
		p.Of(CauseRunqueueIdle) != 170 {
		t.Error(p)
	}
}

// TestMachineBeside: a heartbeat that was late at the same time, by the wall clock, shows what the trace cannot.
func TestMachineBeside(t *testing.T) {
	wall := time.Unix(1000, 0)
	for name, want := range map[string]bool{"late": true, "late elsewhere": false} {
		from := wall.Add(190 * time.Microsecond)
		if !want {
			from = from.Add(time.Second)
		}
		s := newScript(t, 2)
		s.m.late = []cpuwatch.Interval{{From: from, To: from.Add(49 * time.Millisecond)}}
		s.at(0)
		feed(s, 0, trace.EventSync, trace.Sync{N: 1, ClockSnapshot: &trace.ClockSnapshot{Trace: 0, Wall: wall}},
			trace.NoStack)
		s.at(10).born(1).keep()
		s.at(100).wake(0, 1).run(1, 1).begin(1)
		s.at(200).begin(1).end(1)
		s.at(50_200).end(1).wait(1, "network", "main.serve")
		s.play()
		if got := s.m.machine.Stalls == 1; got != want {
			t.Errorf("%s: %+v", name, s.m.machine)
		}
	}
}
