package reqtrace

import (
	"testing"

	"golang.org/x/exp/trace"
)

// TestHeldByStop: a wait for time or for a connection that ends with a stop of the world was the
// stop's, as far as both overlap.
func TestHeldByStop(t *testing.T) {
	for name, tt := range map[string]struct {
		reason   string
		from, to int64 // the stop; goroutine 1 waits from 110 to 300
		want     map[Cause]int64
	}{
		"sleep":           {"sleep", 200, 290, map[Cause]int64{CauseRunning: 20, CauseSleep: 100, CauseStopped: 90}},
		"network":         {"network", 200, 290, map[Cause]int64{CauseRunning: 20, CauseNetwork: 100, CauseStopped: 90}},
		"began meanwhile": {"sleep", 105, 290, map[Cause]int64{CauseRunning: 20, CauseSleep: 10, CauseStopped: 180}},
		"woken within":    {"network", 200, 305, map[Cause]int64{CauseRunning: 15, CauseNetwork: 90, CauseStopped: 105}},
		"long before":     {"sleep", 120, 180, map[Cause]int64{CauseRunning: 20, CauseSleep: 190}},
		"short":           {"sleep", 285, 288, map[Cause]int64{CauseRunning: 20, CauseSleep: 190}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(newScript(t, 2))
			s.at(90).create(0, 2).run(2, 2)
			stop := func() { s.at(tt.from).rangeOf(2, trace.EventRangeBegin, "stop-the-world (GC sweep termination)") }
			start := func() { s.at(tt.to).rangeOf(2, trace.EventRangeEnd, "stop-the-world (GC sweep termination)") }
			if tt.from < 110 {
				stop()
			}
			s.at(110).wait(1, tt.reason, "main.rest")
			if tt.from > 110 {
				stop()
			}
			if tt.to < 300 {
				start()
			}
			s.at(300).wake(0, 1)
			if tt.to > 300 {
				start()
			}
			s.run(1, 1)
			done(s.at(310)).want(tt.want)
		})
	}
}

// TestRunqueueAssist: a goroutine in an assist holds its processor for the collector.
func TestRunqueueAssist(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).born(1)
	s.create(0, 2).run(2, 1)
	s.at(100).wake(0, 1)
	s.at(150).rangeOf(2, trace.EventRangeBegin, "GC mark assist", "main.grow")
	s.at(180).rangeOf(2, trace.EventRangeEnd, "GC mark assist")
	s.at(200).wait(2, "chan receive", "main.other").run(1, 1).begin(1)
	done(s.at(210)).want(map[Cause]int64{CauseRunqueueBusy: 70, CauseRunqueueGC: 30, CauseRunning: 10})
}

// TestSinceBefore: a goroutine that is first met when it is woken has waited since before the
// trace, and for the network or for time where no goroutine wakes it.
func TestSinceBefore(t *testing.T) {
	s := serve(newScript(t, 2))
	s.at(110).wait(1, "chan receive", "main.ask")
	s.at(200).move(0, 7, trace.GoUndetermined, trace.GoWaiting, "", trace.NoStack)
	s.at(201).wake(0, 7).run(7, 2)
	s.at(210).wake(7, 1)
	s.at(211).run(1, 1)
	done(s.at(220)).want(map[Cause]int64{CauseRunning: 10 + 9 + 9, CauseNetwork: 91, CauseRunqueueIdle: 1})
}

// TestCoroutine: iter.Pull's other side works for the request.
func TestCoroutine(t *testing.T) {
	s := serve(newScript(t, 2))
	s.at(110).move(1, 7, trace.GoNotExist, trace.GoWaiting, "", stack("main.pull"))
	s.at(120).wake(1, 7).wait(1, "").run(7, 1)
	s.at(150).wake(7, 1).wait(7, "").run(1, 1)
	done(s.at(160)).want(map[Cause]int64{CauseRunning: 60})
}
