package reqtrace

import (
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

// serve lets goroutine 1 be woken by the network at 100 µs, run at once on processor 1, and begin
// its request.
func serve(s *script) *script {
	return s.at(10).born(1).at(100).wake(0, 1).run(1, 1).begin(1)
}

// done ends the request of goroutine 1.
func done(s *script) *script { return s.end(1).wait(1, "network", "main.serve") }

func TestRunning(t *testing.T) {
	s := newScript(t, 2)
	done(serve(s).at(130)).want(map[Cause]int64{CauseRunning: 30})
}

// TestBeforeTheHandler: a request begins when its connection is woken.
func TestBeforeTheHandler(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).born(1).at(50).wake(0, 1).at(90).run(1, 1).at(100).begin(1)
	done(s.at(130)).want(map[Cause]int64{CauseRunqueueIdle: 40, CauseRunning: 40})
}

func TestSyscallNetworkSleep(t *testing.T) {
	s := serve(newScript(t, 2))
	s.at(110).move(1, 1, trace.GoRunning, trace.GoSyscall, "", stack("syscall.fsync", "main.save"))
	s.at(150).move(1, 1, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
	s.at(160).move(1, 1, trace.GoRunning, trace.GoSyscall, "", stack("runtime.cgocall", "main._Cfunc_f", "main.call"))
	s.at(190).move(1, 1, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
	s.at(200).wait(1, "network", "net.(*conn).Read", "main.ask").at(300).wake(0, 1).run(1, 1)
	s.at(310).wait(1, "sleep", "time.Sleep", "main.rest").at(350).wake(0, 1).run(1, 1)
	s.at(360).wait(1, "select", "runtime.selectgo", "main.patience").at(400).wake(0, 1).run(1, 1)
	r := done(s.at(410)).want(map[Cause]int64{
		CauseRunning: 60, CauseSyscall: 40, CauseCgo: 30, CauseNetwork: 100,
		CauseSleep: 80,
	})
	if b := r.Sites[0]; !took(b, CauseNetwork, "main.ask (x.go:7)", 100*time.Microsecond) {
		t.Errorf("%+v", b)
	}
	if n := len(r.Path); n != 11 {
		t.Errorf("%d tiles: %+v", n, r.Path)
	}
}

func TestRunqueue(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).born(1)
	s.create(0, 2).run(2, 2)
	s.create(0, 3).run(3, 3) // both processors are held
	s.at(100).wake(0, 1)     // nobody marks
	s.at(200)                // from here on goroutine 3 does
	feed(s, 3, trace.EventLabel, trace.Label{Label: "GC (dedicated)", Resource: trace.MakeResourceID(trace.GoID(3))},
		trace.NoStack)
	s.at(300).rangeOf(2, trace.EventRangeBegin, "stop-the-world (GC mark termination)")
	s.at(340).rangeOf(2, trace.EventRangeEnd, "stop-the-world (GC mark termination)")
	s.at(400).wait(2, "chan receive", "main.hog") // its processor is idle
	s.at(405).run(1, 2).begin(1)                  // on the processor that 2 had
	r := done(s.at(410)).want(map[Cause]int64{
		CauseRunqueueBusy: 100 + 50 + 30, CauseRunqueueGC: 50 + 30, CauseStopped: 40, CauseRunqueueIdle: 5,
		CauseRunning: 5,
	})
	if b := r.Sites[0]; !took(b, CauseRunqueueBusy, "", 180*time.Microsecond) || b.Holder != "main.hog (x.go:7)" ||
		b.Longest != 305*time.Microsecond {
		t.Errorf("%+v", b)
	}
}

func TestCollector(t *testing.T) {
	s := serve(newScript(t, 2))
	s.at(110).rangeOf(1, trace.EventRangeBegin, "GC mark assist", "runtime.gcAssistAlloc", "main.grow")
	s.at(120).wait(1, "GC mark assist wait for work", "runtime.gcParkAssist", "main.grow")
	s.at(150).wake(0, 1).run(1, 1)
	s.at(160).rangeOf(1, trace.EventRangeEnd, "GC mark assist")
	s.at(170).rangeOf(1, trace.EventRangeBegin, "GC incremental sweep", "runtime.mallocgc", "main.more")
	s.at(175).rangeOf(1, trace.EventRangeEnd, "GC incremental sweep")
	s.at(180).rangeOf(1, trace.EventRangeBegin, "stop-the-world (GC sweep termination)")
	s.at(189).rangeOf(1, trace.EventRangeEnd, "stop-the-world (GC sweep termination)")
	r := done(s.at(200)).want(map[Cause]int64{
		CauseRunning: 10 + 10 + 5 + 11, CauseAssistMark: 20, CauseAssistWait: 30,
		CauseSweep: 5, CauseStopped: 9,
	})
	if b := r.Sites[0]; !took(b, CauseAssistWait, "main.grow (x.go:7)", 30*time.Microsecond) {
		t.Errorf("%+v", b)
	}
}

// TestHalt: a stop of the world that is not the collector's is of who asked for it, for the one
// that stops and for those that wait, whoever wakes them.
func TestHalt(t *testing.T) {
	const dump = "stop-the-world (all goroutines stack trace)"
	s := newScript(t, 2)
	s.at(10).create(0, 2).run(2, 2)
	serve(s).at(110).off(1, trace.GoRunnable, "preempted", "main.work")
	s.at(110).rangeOf(2, trace.EventRangeBegin, dump, "runtime.Stack", "runtime/debug.Stack", "main.watchdog")
	s.at(190).rangeOf(2, trace.EventRangeEnd, dump)
	s.at(190).run(1, 1)
	s.at(200).rangeOf(1, trace.EventRangeBegin, "stop-the-world (GOMAXPROCS)", "runtime.startTheWorldGC",
		"runtime.updateMaxProcsGoroutine")
	s.at(210).rangeOf(1, trace.EventRangeEnd, "stop-the-world (GOMAXPROCS)")
	r := done(s.at(220)).want(map[Cause]int64{CauseRunning: 10 + 10 + 10, CauseStoppedOther: 80 + 10})
	for i, want := range []Blame{
		{
			Cause: CauseStoppedOther, Holder: "main.watchdog (x.go:7)", Op: "all goroutines stack trace",
			Time: 80 * time.Microsecond, Longest: 80 * time.Microsecond,
		},
		{
			Cause: CauseStoppedOther, Holder: "the runtime itself", Op: "GOMAXPROCS", Time: 10 * time.Microsecond,
			Longest: 10 * time.Microsecond,
		},
	} {
		if r.Sites[i] != want {
			t.Errorf("%+v\nwant %+v", r.Sites[i], want)
		}
	}
}

// TestCollectorsLocks: who allocates may have to wait for the one that starts a cycle.
func TestCollectorsLocks(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).create(0, 2).run(2, 2)
	serve(s).at(110).wait(1, "sync", "runtime.semacquire1", "runtime.gcStart", "runtime.mallocgc", "main.grow")
	s.at(150).wake(2, 1).run(1, 1)
	r := done(s.at(160)).want(map[Cause]int64{CauseRunning: 20, CauseAssistWait: 40})
	if b := r.Sites[0]; !took(b, CauseAssistWait, "main.grow (x.go:7)", 40*time.Microsecond) {
		t.Errorf("%+v", b)
	}
}

// TestConvoy: a lock goes from hand to hand, thousands of hands, before the request has it; each
// holds it for a microsecond. One holder has to assist, one is off its processor meanwhile.
func TestConvoy(t *testing.T) {
	const hands = 5000
	s := newScript(t, hands+10)
	s.at(10).born(1)
	for i := range hands {
		s.create(0, 10+i).run(10+i, 10+i)
	}
	s.at(20)
	for i := 1; i < hands; i++ { // all but the first wait
		s.wait(10+i, "sync", "sync.(*Mutex).Lock", "main.hand")
	}
	s.at(100).wake(0, 1).run(1, 1).begin(1).at(101).wait(1, "sync", "sync.(*Mutex).Lock", "main.(*cache).get")
	for i := range hands {
		if i == 7 {
			s.rangeOf(17, trace.EventRangeBegin, "GC mark assist", "main.hand").at(s.now + 1)
			s.rangeOf(17, trace.EventRangeEnd, "GC mark assist")
		}
		s.at(int64(102 + i))
		next := 11 + i
		if i == hands-1 {
			next = 1
		}
		s.wake(10+i, next).run(next, next)
	}
	r := done(s.at(102 + hands)).want(map[Cause]int64{CauseRunning: 2, CauseLock: hands - 1, CauseAssistMark: 1})
	if b := r.Sites[0]; !took(b, CauseLock, "main.(*cache).get (x.go:7)", (hands-1)*time.Microsecond) {
		t.Errorf("%+v", b)
	}
}

// TestChildren: what a request starts and waits for works for it.
func TestChildren(t *testing.T) {
	s := serve(newScript(t, 3))
	s.at(110).create(1, 2).wait(1, "sync", "sync.(*WaitGroup).Wait", "main.fan")
	s.at(120).run(2, 2)
	s.at(150).wait(2, "network", "main.ask").at(170).wake(0, 2).run(2, 2)
	s.at(180).create(2, 3).run(3, 3).wait(2, "chan receive", "main.grandchild")
	s.at(200).wake(3, 2).run(2, 2).off(3, trace.GoNotExist, "")
	s.at(210).wake(2, 1).run(1, 1).off(2, trace.GoNotExist, "")
	done(s.at(220)).want(map[Cause]int64{
		CauseRunning: 10 + 30 + 10 + 20 + 10 + 10, CauseRunqueueIdle: 10,
		CauseNetwork: 20,
	})
}

// TestWakerBornLater: who ends a wait did not exist when it began; before, it is up to who made it.
func TestWakerBornLater(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 2).run(2, 2)
	serve(s).at(110).wait(1, "chan receive", "main.pool")
	s.at(115).wait(2, "network", "main.dial").at(140).wake(0, 2).run(2, 2)
	s.at(150).create(2, 3).run(3, 3)
	s.at(170).wake(3, 1).run(1, 1)
	done(s.at(180)).want(map[Cause]int64{CauseRunning: 10 + 5 + 10 + 20 + 10, CauseNetwork: 25})
}

// TestWorkers: a worker takes jobs; until it has answered the last one, it does not work for the
// next.
func TestWorkers(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 2).run(2, 2) // the worker
	s.at(20).create(0, 3).run(3, 3).wait(3, "chan receive", "main.other")
	serve(s).at(105).wait(1, "chan receive", "main.submit")
	s.at(150).wake(2, 3) // the other one's job is done
	s.at(180).wait(2, "network", "main.work").at(190).wake(0, 2).run(2, 2)
	s.at(200).wake(2, 1).run(1, 1)
	r := done(s.at(210)).want(map[Cause]int64{CauseRunning: 5 + 30 + 10 + 10, CauseChannel: 45, CauseNetwork: 10})
	if b := r.Sites[0]; !took(b, CauseChannel, "main.submit (x.go:7)", 45*time.Microsecond) {
		t.Errorf("%+v", b)
	}
}

// TestUpstream: net/http's client waits for a goroutine that waits for the network.
func TestUpstream(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 2).run(2, 2).at(20).wait(2, "network", "net/http.(*persistConn).readLoop")
	serve(s).at(110).wait(1, "select", "net/http.(*persistConn).roundTrip", "main.ask")
	s.at(300).wake(0, 2).run(2, 2).at(305).wake(2, 1).run(1, 1)
	done(s.at(310)).want(map[Cause]int64{CauseRunning: 10 + 5 + 5, CauseNetwork: 190})
}

// TestSharedReader: one goroutine reads the answers to all calls of a connection. Those to others before
// are no jobs that a call waits for.
func TestSharedReader(t *testing.T) {
	const transport = "google.golang.org/grpc/internal/transport."
	s := newScript(t, 3)
	reads := func() { s.wait(2, "network", "internal/poll.(*FD).Read", transport+"(*http2Client).reader") }
	s.at(10).create(0, 2).run(2, 2)
	reads()
	s.at(20).create(0, 3).run(3, 3).wait(3, "select", transport+"(*ClientStream).waitOnHeader", "main.other")
	serve(s).at(110).wait(1, "select", transport+"(*ClientStream).waitOnHeader", "main.ask")
	s.at(150).wake(0, 2).run(2, 2).at(155).wake(2, 3) // the answer to another call
	reads()
	s.at(300).wake(0, 2).run(2, 2).at(305).wake(2, 1).run(1, 1)
	r := done(s.at(310)).want(map[Cause]int64{CauseRunning: 10 + 5 + 5 + 5, CauseNetwork: 40 + 145})
	if b := r.Sites[0]; !took(b, CauseNetwork, "main.ask (x.go:7)", 185*time.Microsecond) {
		t.Errorf("%+v", b)
	}
}

// TestTimer: a channel that nobody sends to was a timer's.
func TestTimer(t *testing.T) {
	s := serve(newScript(t, 1))
	s.at(110).wait(1, "chan receive", "main.pause").at(200).wake(0, 1).run(1, 1)
	done(s.at(210)).want(map[Cause]int64{CauseRunning: 20, CauseSleep: 90})
}

// TestTimersGoroutine: who ended the wait was made by a timer (context.WithTimeout, AfterFunc).
func TestTimersGoroutine(t *testing.T) {
	s := serve(newScript(t, 2))
	s.at(110).wait(1, "select", "main.patience").at(300).create(0, 2).at(305).run(2, 2)
	s.at(310).wake(2, 1).run(1, 1)
	r := done(s.at(320)).want(map[Cause]int64{CauseRunning: 10 + 5 + 10, CauseSleep: 190, CauseRunqueueIdle: 5})
	if b := r.Sites[0]; !took(b, CauseSleep, "main.patience (x.go:7)", 190*time.Microsecond) {
		t.Errorf("%+v", b)
	}
}

// TestLockHolderIsAway: a lock counts as a lock whatever its holder does with it, but for what
// the scheduler and the collector do to the holder.
func TestLockHolderIsAway(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).create(0, 2).run(2, 2)
	serve(s).at(110).wait(1, "sync", "main.get")
	s.at(120).wait(2, "network", "main.refresh").at(150).wake(0, 2)
	s.at(155).run(2, 2).at(160).wake(2, 1).run(1, 1)
	done(s.at(170)).want(map[Cause]int64{CauseRunning: 20, CauseLock: 10 + 30 + 5, CauseRunqueueIdle: 5})
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
