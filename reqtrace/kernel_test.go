package reqtrace

import (
	"math"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/cpuwatch"
)

type threadTimes map[int64]cpuwatch.ThreadTime

// moments returns the kernel's counts at the ends of n windows of 10 ms from 0 on. Threads run all
// of a window unless at changes by how much their times grew.
func moments(n int, threads []int64, at func(i int, m *cpuwatch.Moment, grew threadTimes)) *cpuwatch.CPU {
	cpu := &cpuwatch.CPU{Grouped: true, Quota: .5}
	sums := threadTimes{}
	var m cpuwatch.Moment
	for i := range n + 1 {
		m.At = time.Unix(1000, 0).Add(time.Duration(i) * 10 * time.Millisecond)
		grew := threadTimes{}
		if i > 0 {
			for _, id := range threads {
				grew[id] = cpuwatch.ThreadTime{Ran: 10 * time.Millisecond}
			}
			at(i, &m, grew)
		}
		m.Threads = nil
		for _, id := range threads {
			s := sums[id]
			s.ID, s.Ran, s.Waited = id, s.Ran+grew[id].Ran, s.Waited+grew[id].Waited
			sums[id] = s
			m.Threads = append(m.Threads, s)
		}
		cpu.Moments = append(cpu.Moments, m)
	}
	return cpu
}

// newKernelScript returns a script whose trace begins at the moment 0 of the wall clock.
func newKernelScript(t *testing.T, procs int, cpu *cpuwatch.CPU) *script {
	s := newScriptOf(t, procs, Options{Beside: &cpuwatch.Beside{CPU: cpu}})
	s.at(2)
	feed(s, 0, trace.EventSync, trace.Sync{N: 1, ClockSnapshot: &trace.ClockSnapshot{
		Trace: 2000,
		Wall:  time.Unix(1000, 0),
	}}, trace.NoStack)
	return s
}

// finish ends the trace long after the requests and returns them.
func (s *script) finish() *script {
	s.t.Helper()
	s.at(900_000).wake(0, 11).run(11, 1).wait(11, "network", "main.serve")
	s.play()
	s.m.end()
	return s
}

// TestThrottled tests that growing throttled_time is assigned to the longest silence that ends with
// it, if the two lengths fit.
func TestThrottled(t *testing.T) {
	for name, tt := range map[string]struct {
		grows    map[int]time.Duration // by window, at its end
		silences int
		machine  int
		want     map[Cause]int64 // of the request, from 100 to 50_300 µs, with a silence from 200 to 50_200
	}{
		"nothing grew": {nil, 0, 1, map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000}},
		"it grew at the end": {
			map[int]time.Duration{6: 40 * time.Millisecond},
			1, 0,
			map[Cause]int64{CauseRunning: 200, CauseThrottled: 50_000},
		},
		"summed over two CPUs": {
			map[int]time.Duration{6: 100 * time.Millisecond},
			1, 0,
			map[Cause]int64{CauseRunning: 200, CauseThrottled: 50_000},
		},
		"it grew far too little": {
			map[int]time.Duration{6: 20 * time.Millisecond},
			0, 1,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"it grew far too much": {
			map[int]time.Duration{6: 300 * time.Millisecond},
			0, 1,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
		"it grew elsewhere": {
			map[int]time.Duration{9: 40 * time.Millisecond},
			0, 1,
			map[Cause]int64{CauseRunning: 200, CauseMachine: 50_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newKernelScript(t, 2, moments(20, nil, func(i int, m *cpuwatch.Moment, _ threadTimes) {
				m.Periods++
				if d := tt.grows[i]; d > 0 {
					m.Throttled++
					m.Waited += d
				}
			}))
			s.at(10).born(11).born(1).keep()
			s.at(100).wake(0, 1).run(1, 1).begin(1)
			s.at(200).wait(1, "sleep", "main.rest").wake(0, 1)
			s.at(50_200).run(1, 1)
			s.at(50_300).end(1).wait(1, "network", "main.serve")
			s.finish()
			s.want(tt.want)
			s.m.kernel.finish(&Report{}, 0, math.MaxInt64)
			q := s.m.kernel.report
			if q.Silences != tt.silences || s.m.machine.Stalls != tt.machine || q.Periods != 20 ||
				q.Throttled != len(tt.grows) {
				t.Errorf("quota %+v, machine %+v", q, s.m.machine)
			}
			if q.Silences > 0 && (len(s.m.machine.Spans) != 0 || s.m.machine.Longest != 0) {
				t.Errorf("quota %+v, machine %+v", q, s.m.machine)
			}
		})
	}
}

// TestThrottledLongest tests that the longer of two silences in a window is taken, though it comes
// later.
func TestThrottledLongest(t *testing.T) {
	s := newKernelScript(t, 2, moments(20, nil, func(i int, m *cpuwatch.Moment, _ threadTimes) {
		if i == 2 {
			m.Waited += 6 * time.Millisecond
		}
	}))
	s.at(10).born(11).born(1).keep()
	s.at(10_100).wake(0, 1).run(1, 1).begin(1)
	s.at(12_100).begin(1).end(1) // a silence of 2 ms
	s.at(17_100).begin(1).end(1) // one of 5 ms
	s.at(17_200).end(1).wait(1, "network", "main.serve")
	s.finish()
	s.want(map[Cause]int64{CauseRunning: 2100, CauseThrottled: 5000})
}

// TestDescheduled tests that a thread which the trace shows running is descheduled for as long as
// the kernel counted it waiting instead.
func TestDescheduled(t *testing.T) {
	const thread = 101
	for name, tt := range map[string]struct {
		ran, waited time.Duration // in each window from 1 to 4
		quota       time.Duration // likewise
		want        map[Cause]int64
	}{
		"it ran": {10 * time.Millisecond, 0, 0, map[Cause]int64{CauseRunning: 40_000}},
		"half of it": {
			5 * time.Millisecond, 5 * time.Millisecond, 0,
			map[Cause]int64{CauseRunning: 20_000, CauseDescheduled: 20_000},
		},
		"a page fault, not a wait": {5 * time.Millisecond, 0, 0, map[Cause]int64{CauseRunning: 40_000}},
		"the quota": {
			5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond,
			map[Cause]int64{CauseRunning: 20_000, CauseThrottled: 20_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newKernelScript(t, 2, moments(20, []int64{thread},
				func(i int, m *cpuwatch.Moment, grew threadTimes) {
					if i <= 4 {
						grew[thread] = cpuwatch.ThreadTime{Ran: tt.ran, Waited: tt.waited}
						m.Waited += tt.quota
					}
				}))
			s.at(10).born(11)
			s.at(20).create(0, 1).run(1, 1).wait(1, "network", "main.serve").keep()
			s.at(21).wake(0, 1).run(1, 1)
			s.at(22).begin(1)
			for at := int64(100); at < 40_000; at += 900 { // no silences
				s.at(at).wake(0, 11).run(11, 2).wait(11, "network", "main.serve")
			}
			s.at(40_021).end(1).wait(1, "network", "main.serve")
			s.finish()
			r := s.one()
			for c, us := range tt.want {
				if d := r.Parts.Of(c) - time.Duration(us)*time.Microsecond; d > 200*time.Microsecond ||
					d < -200*time.Microsecond {
					t.Errorf("%v: %v, want %d µs", c, r.Parts.Of(c), us)
				}
			}
		})
	}
}

// TestDescheduledHolder tests that a wait for a descheduled holder is not a wait for its lock, and
// that the longest hold leaves out the time descheduled.
func TestDescheduledHolder(t *testing.T) {
	const holder = 102
	s := newKernelScript(t, 2, moments(20, []int64{holder}, func(i int, _ *cpuwatch.Moment, grew threadTimes) {
		if i <= 4 {
			grew[holder] = cpuwatch.ThreadTime{Ran: 500 * time.Microsecond, Waited: 9500 * time.Microsecond}
		}
	}))
	s.at(10).born(11).born(1).create(0, 2).run(2, 2).keep()
	s.at(100).wake(0, 1).run(1, 1).begin(1)
	s.at(200).wait(1, "sync", "sync.(*Mutex).Lock", "main.ask")
	for at := int64(300); at < 40_000; at += 900 {
		s.at(at).wake(0, 11).run(11, 1).wait(11, "network", "main.serve")
	}
	s.at(40_000)
	s.move(2, 1, trace.GoWaiting, trace.GoRunnable, "", stack("sync.(*Mutex).Unlock", "main.refresh"))
	s.at(40_010).run(1, 1)
	s.at(40_100).end(1).wait(1, "network", "main.serve")
	s.finish()
	r := s.one()
	if lock, off := r.Parts.Of(CauseLock), r.Parts.Of(CauseDescheduled); lock > 3*time.Millisecond ||
		off < 36*time.Millisecond {
		t.Errorf("lock %v, descheduled %v", lock, off)
	}
	for _, b := range r.Sites {
		if b.Cause == CauseLock && b.Longest > 5*time.Millisecond {
			t.Errorf("held for %v", b.Longest)
		}
		if b.Cause == CauseDescheduled && b.Holder != "main.refresh (x.go:7)" {
			t.Errorf("%+v", b)
		}
	}
}

// TestDescheduledCalls tests that what a thread waited for a CPU is in the time of its calls once,
// however many there are, and not in a wake-up as well.
func TestDescheduledCalls(t *testing.T) {
	const thread = 101
	for calls := int64(1); calls <= 3; calls++ {
		s := newKernelScript(t, 2, moments(20, []int64{thread},
			func(i int, _ *cpuwatch.Moment, grew threadTimes) {
				grew[thread] = cpuwatch.ThreadTime{Ran: 9 * time.Millisecond}
				if i == 1 {
					grew[thread] = cpuwatch.ThreadTime{Ran: 9 * time.Millisecond, Waited: 2 * time.Millisecond}
				}
			}))
		s.at(10).born(11).born(1).keep()
		s.at(100).wake(0, 1).run(1, 1).begin(1)
		for i := range calls {
			s.at(1000+3000*i).move(1, 1, trace.GoRunning, trace.GoSyscall, "", stack("syscall.fsync", "main.save"))
			s.at(3500+3000*i).move(1, 1, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
		}
		s.at(9800).end(1).wait(1, "network", "main.serve")
		s.finish()
		if off := s.one().Parts.Of(CauseDescheduled); off < 1990*time.Microsecond || off > 2*time.Millisecond {
			t.Errorf("%d calls: %v, want 2 ms", calls, off)
		}
	}
}

// TestGrid tests that only stalls that end on a grid of 100 ms are taken for a quota's.
func TestGrid(t *testing.T) {
	ms := func(ends ...int) (list []Span) {
		for _, e := range ends {
			list = append(list, Span{End: time.Duration(e) * time.Millisecond})
		}
		return list
	}
	for want, list := range map[int][]Span{
		8: ms(131, 229, 330, 432, 530, 731, 1030, 1130),
		0: ms(131, 260, 310, 499, 540, 771, 1030, 1195),
	} {
		if got := grid(list); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	if got := grid(ms(130, 230, 330)); got != 0 {
		t.Errorf("grid of three stalls is %d, want 0", got)
	}
}
