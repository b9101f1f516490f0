package reqtrace

import (
	"testing"
	"time"

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
		"sleep": {"sleep", 200, 290, map[Cause]int64{CauseRunning: 20, CauseSleep: 100, CauseStopped: 90}},
		"network": {"network", 200, 290, map[Cause]int64{
			CauseRunning: 20, CauseNetwork: 100,
			CauseStopped: 90,
		}},
		"began meanwhile": {"sleep", 105, 290, map[Cause]int64{CauseRunning: 20, CauseSleep: 10, CauseStopped: 180}},
		"woken within": {"network", 200, 305, map[Cause]int64{
			CauseRunning: 15, CauseNetwork: 90,
			CauseStopped: 105,
		}},
		"long before": {"sleep", 120, 180, map[Cause]int64{CauseRunning: 20, CauseSleep: 190}},
		"short":       {"sleep", 285, 288, map[Cause]int64{CauseRunning: 20, CauseSleep: 190}},
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

// TestHeldFor: a holder that does several things one after the other holds from acquiring to
// releasing, not for as long as the longest of them. What a hand-off's holder had it for is its
// own.
func TestHeldFor(t *testing.T) {
	s := holds(newScript(t, 4), 2)
	serve(s).at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.get")
	for i := range int64(4) { // 4 requests to somebody else, 20 µs each, and 10 µs of work
		s.at(110+30*i).wait(2, "network", "net/http.Get", "main.refresh")
		s.at(130+30*i).wake(0, 2).run(2, 2)
	}
	s.at(232).create(0, 3).run(3, 3).wait(3, "sync", "sync.(*Mutex).Lock", "main.get")
	s.at(240).release(2, 3, "main.refresh").run(3, 3)
	s.at(245).release(3, 1, "main.get").run(1, 1)
	r := done(s.at(250)).want(map[Cause]int64{CauseRunning: 15, CauseLock: 135})
	for _, b := range r.Sites {
		want := 130 * time.Microsecond
		if b.Holder == "main.get (x.go:7)" {
			want = 5 * time.Microsecond
		}
		if b.Longest != want {
			t.Errorf("held for %v, want %v: %+v", b.Longest, want, b)
		}
	}
}

// TestHeldInTurns: two goroutines of one function hold one after the other, and wait at another
// line than the request. Each has held for its own time.
func TestHeldInTurns(t *testing.T) {
	s := holds(newScript(t, 4), 2)
	s.at(20).create(0, 3).run(3, 3)
	serve(s).at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.get")
	s.at(115).wait(2, "sleep", "time.Sleep", "main.refresh")
	s.at(120).wait(3, "sync", "sync.(*Mutex).Lock", "main.lockAndRefresh")
	s.at(190).wake(0, 2).run(2, 2).at(200).release(2, 3, "main.refresh").run(3, 3)
	s.at(205).wait(3, "sleep", "time.Sleep", "main.refresh")
	s.at(260).wake(0, 3).run(3, 3).at(270).release(3, 1, "main.refresh").run(1, 1)
	r := done(s.at(280)).want(map[Cause]int64{CauseRunning: 20, CauseLock: 160})
	for _, b := range r.Sites {
		if b.Longest != 90*time.Microsecond {
			t.Errorf("%+v", b)
		}
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
