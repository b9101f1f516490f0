package reqtrace

import (
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

const us = time.Microsecond

// What times has for a request that an edge of the trace cuts.
const startCut, endCut = 1, 2

// times returns the starts and ends of what is done, in microseconds, and -1 for what is cut.
func (s *script) times() (out [][2]int64) {
	for _, r := range s.m.turns.done {
		if r.Cut != "" {
			out = append(out, [2]int64{-1, map[string]int64{CutStart: startCut, CutEnd: endCut}[r.Cut]})
			continue
		}
		if r.Parts.Total() != r.Duration() {
			s.t.Errorf("%+v", r)
		}
		out = append(out, [2]int64{int64(r.Start/us) + s.m.origin/1000, int64(r.End/us) + s.m.origin/1000})
	}
	return out
}

func (s *script) wantTimes(want ...[2]int64) {
	s.t.Helper()
	got := s.times()
	if len(got) != len(want) {
		s.t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			s.t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestTurns: a connection's requests last from wake-up to the wait after the answer.
func TestTurns(t *testing.T) {
	s := serve(newScript(t, 1))
	done(s.at(130))
	s.at(200).wake(0, 1).at(210).run(1, 1).begin(1)
	s.at(220).wait(1, "sync", "main.lock").at(230).wake(0, 1).run(1, 1) // not over yet
	s.at(240).end(1)
	s.at(250).wait(1, "GC mark assist wait for work", "main.finish").at(260).wake(0, 1).run(1, 1) // nor by this
	s.at(270).wait(1, "network", "main.serve")
	s.wantTimes([2]int64{100, 130}, [2]int64{200, 270})
}

// TestPipelined: the next request was there before the wait for it.
func TestPipelined(t *testing.T) {
	s := serve(newScript(t, 1))
	s.at(120).end(1).at(125).begin(1)
	done(s.at(140))
	s.wantTimes([2]int64{100, 125}, [2]int64{125, 140})
}

// TestNested: a region in a region is the same request.
func TestNested(t *testing.T) {
	s := serve(newScript(t, 1))
	s.at(110).begin(1).at(120).end(1)
	done(s.at(130))
	s.wantTimes([2]int64{100, 130})
}

// TestEndOfGoroutine ends its request too.
func TestEndOfGoroutine(t *testing.T) {
	s := serve(newScript(t, 1))
	s.at(120).end(1).at(130).off(1, trace.GoNotExist, "")
	s.wantTimes([2]int64{100, 130})
}

// TestWorkerWithRegions has no network: its requests begin when it was woken.
func TestWorkerWithRegions(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1).wait(1, "chan receive", "main.work")
	s.at(50).wake(0, 1).run(1, 1).at(60).begin(1).at(80).end(1).at(90).wait(1, "chan receive", "main.work")
	s.wantTimes([2]int64{50, 90})
}

// TestWorkerThatAsks: a worker's own questions to the network are not where its next job begins.
func TestWorkerThatAsks(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1).wait(1, "network", "main.dial").at(20).wake(0, 1).run(1, 1)
	s.at(30).wait(1, "chan receive", "main.work")
	s.at(50).wake(0, 1).run(1, 1).at(60).begin(1).at(80).end(1).at(90).wait(1, "network", "main.report")
	s.at(100).wake(0, 1).run(1, 1).at(110).wait(1, "chan receive", "main.work")
	s.at(150).wake(0, 1).run(1, 1).at(160).begin(1).at(180).end(1).at(190).wait(1, "network", "main.report")
	s.wantTimes([2]int64{50, 90}, [2]int64{150, 190})
}

// TestIdleWhenTheTraceBegan: a connection that waited already is served from its first wake-up on.
func TestIdleWhenTheTraceBegan(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).move(0, 1, trace.GoUndetermined, trace.GoWaiting, "", trace.NoStack)
	s.at(100).wake(0, 1).run(1, 1).syscall(1, 101, peek).syscall(1, 110, answer).at(120).wait(1, "network", peek...)
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{100, 120})
}

// TestUnreadBody: the server reads what the handler left, and that is no wait for a request.
func TestUnreadBody(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1).syscall(1, 12, header)
	s.at(20).wait(1, "network", "internal/poll.(*FD).Read", "net/http.(*response).finishRequest",
		"net/http.(*conn).serve")
	s.at(30).wake(0, 1).run(1, 1).syscall(1, 40, answer).at(50).wait(1, "network", peek...)
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{10, 50})
}

// TestChainOfTheDead: goroutines that are over do not keep each other.
func TestChainOfTheDead(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1)
	for i := 1; s.m.events < 3*pruneEvery; i++ { // each makes the next, and dies
		s.at(int64(10+i*1000)).create(i, i+1).off(i, trace.GoNotExist, "").run(i+1, 1)
	}
	if n := len(s.m.dead); n > pruneEvery/2 {
		t.Errorf("%d are kept", n)
	}
}

// TestCutAtTheEdges: what was under way when the trace began or ended has no breakdown.
func TestCutAtTheEdges(t *testing.T) {
	s := newScript(t, 4)
	s.at(10)
	s.proc[1] = 1
	s.move(1, 1, trace.GoUndetermined, trace.GoRunning, "", trace.NoStack).at(20)
	done(s) // its region began before
	s.at(30)
	s.proc[2] = 2
	s.move(2, 2, trace.GoUndetermined, trace.GoRunning, "", trace.NoStack)
	s.at(40).begin(2).at(50).end(2).wait(2, "network", "main.serve") // who knows when it was woken
	s.at(60).born(3).at(70).wake(0, 3).run(3, 3).begin(3)
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{-1, startCut}, [2]int64{-1, startCut}, [2]int64{-1, endCut})
}

// conn are stacks of net/http's server, from the inside.
var (
	peek = []string{
		"internal/poll.(*FD).Read", "net/http.(*connReader).Read", "bufio.(*Reader).Peek",
		"net/http.(*conn).serve",
	}
	header = []string{
		"internal/poll.(*FD).Read", "net/http.(*connReader).Read", "net/http.(*conn).readRequest",
		"net/http.(*conn).serve",
	}
	answer = []string{
		"syscall.write", "net/http.checkConnErrorWriter.Write", "net/http.(*response).finishRequest",
		"net/http.(*conn).serve",
	}
	inside = []string{
		"internal/poll.(*FD).Read", "main.ask", "net/http.serverHandler.ServeHTTP",
		"net/http.(*conn).serve",
	}
	abort = []string{"sync.(*Cond).Wait", "net/http.(*connReader).abortPendingRead", "net/http.(*conn).serve"}
)

func (s *script) syscall(g int, to int64, funcs []string) *script {
	s.move(g, g, trace.GoRunning, trace.GoSyscall, "", stack(funcs...))
	return s.at(to).move(g, g, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
}

// TestUnmarked: without regions, a turn of a connection that writes an answer is a request.
func TestUnmarked(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1)
	s.syscall(1, 12, header).wait(1, "network", header...) // nothing yet
	s.at(100).wake(0, 1).at(105).run(1, 1)
	s.at(110).wait(1, "network", header...).at(120).wake(0, 1).run(1, 1) // the header comes in two pieces
	s.at(130).wait(1, "network", inside...).at(150).wake(0, 1).run(1, 1) // and the handler asks somebody
	s.at(160).syscall(1, 165, answer)
	s.at(170).wait(1, "sync.(*Cond).Wait", abort...).at(172).wake(0, 1).run(1, 1)
	s.at(175).syscall(1, 177, peek) // the next request is there
	s.at(180).syscall(1, 182, answer).at(185).wait(1, "network", peek...)
	s.at(300).wake(0, 1).run(1, 1).at(310).off(1, trace.GoNotExist, "") // the end: no request
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{100, 170}, [2]int64{175, 185})
}

// TestWaitBeforeTheHandler: a request that was there already is not lost by a wait for a lock.
func TestWaitBeforeTheHandler(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1).wait(1, "network", header...)
	s.at(100).wake(0, 1).run(1, 1).syscall(1, 110, answer).at(120).wait(1, "sync.(*Cond).Wait", abort...)
	s.at(130).wake(0, 1).run(1, 1).syscall(1, 132, peek)
	s.at(140).wait(1, "sync", "sync.(*Mutex).Lock", "net/http.(*conn).readRequest",
		"net/http.(*conn).serve").at(150).wake(0, 1).run(1, 1)
	s.syscall(1, 160, answer).at(170).wait(1, "network", peek...)
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{100, 120}, [2]int64{130, 170})
}

// TestAfterTheAnswer: what a connection writes after its request was over is no other request.
func TestAfterTheAnswer(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1).wait(1, "network", header...)
	s.at(100).wake(0, 1).run(1, 1).syscall(1, 110, answer)
	s.at(120).wait(1, "sync", "sync.(*Mutex).Lock", "net/http.(*conn).serve").at(130).wake(0, 1).run(1, 1)
	s.syscall(1, 140, answer).at(150).wait(1, "network", peek...)
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{100, 120})
}

// TestMarkedOnly: where some requests are marked, turns that are not are none.
func TestMarkedOnly(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).create(0, 2).run(2, 2).wait(2, "network", peek...)
	s.at(20).wake(0, 2).run(2, 2).syscall(2, 30, answer).at(40).wait(2, "network", peek...)
	done(serve(s).at(130))
	s.at(140).wake(0, 2).run(2, 2).syscall(2, 150, answer).at(160).wait(2, "network", peek...)
	s.m.turns.end(s.m.goroutines, s.m.now)
	s.wantTimes([2]int64{100, 130})
	if s.m.turns.unmarked != 2 {
		t.Errorf("%d turns were left out, want 2", s.m.turns.unmarked)
	}
}

// TestLateMark: where turns were taken for requests, a region does not make them vanish.
func TestLateMark(t *testing.T) {
	s := newScript(t, 2)
	turn := func() {
		now := s.now + 10
		s.at(now).wake(0, 2).run(2, 2).syscall(2, now+1, answer).at(now+2).wait(2, "network", peek...)
	}
	s.at(10).create(0, 2).run(2, 2).wait(2, "network", peek...)
	for range maxUndecided {
		turn()
	}
	now := s.now
	s.at(now+10).wake(0, 2).run(2, 2).begin(2).at(now+12).end(2).syscall(2, now+14, answer).at(now+15).wait(2,
		"network", peek...)
	turn()
	s.m.turns.end(s.m.goroutines, s.m.now)
	if n := len(s.m.turns.done); n != maxUndecided+2 || s.m.turns.marked || s.m.turns.unmarked != 0 {
		t.Errorf("%d requests of %d, marked %v, %d left out", n, maxUndecided+2, s.m.turns.marked, s.m.turns.unmarked)
	}
}

// TestPrune: what a long request needs is not forgotten.
func TestPrune(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 2).run(2, 2).create(2, 3).run(3, 3).wait(3, "sleep", "main.tick")
	serve(s).at(101).wait(1, "sync", "main.get")
	now := int64(102)
	for s.m.events < 3*pruneEvery { // goroutine 3 works all the time, and has the lock at the end
		s.at(now).run(3, 3).at(now+1).wait(3, "network", "main.slow").at(now+2).wake(0, 3)
		now += 2
	}
	s.at(now).run(3, 3).wake(3, 1).run(1, 1)
	r := done(s.at(now + 1)).want(map[Cause]int64{CauseRunning: 2, CauseLock: now - 101})
	if r.Parts.Of(CauseUnknown) != 0 {
		t.Errorf("%+v", r)
	}
	for range pruneEvery {
		s.at(now + 10).begin(2).end(2)
	}
	s.m.turns.done = nil
	if n := len(s.m.goroutine(3).segments); n > pruneEvery {
		t.Errorf("%d segments are kept", n)
	}
}

// TestPruneMeasured tests that a profile that lasts as long as the trace does not keep all of it.
func TestPruneMeasured(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 2).run(2, 2)
	s.at(20).create(0, 1).run(1, 1).wait(1, "network", peek...)
	profile := []string{
		"net/http/pprof.Profile", "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP",
		"net/http.(*conn).serve",
	}
	s.at(100).wake(0, 1).run(1, 1).at(110).wait(1, "select", profile...)
	for now := int64(1000); s.m.events < 6*pruneEvery; now += 1000 {
		s.at(now).syscall(2, now+1, []string{"syscall.fsync", "main.save"})
	}
	if n := len(s.m.goroutine(2).segments); n > 2*pruneEvery {
		t.Errorf("%d segments are kept", n)
	}
}

// TestPruneUnmarked: nor what a long turn of a connection needs, though it never waits.
func TestPruneUnmarked(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 2).run(2, 2)
	s.at(20).create(0, 1).run(1, 1).wait(1, "network", peek...)
	s.at(100).wake(0, 1).run(1, 1)
	now := int64(100)
	for s.m.events < 3*pruneEvery {
		now += 1000
		s.at(now).syscall(1, now+1, []string{
			"syscall.fsync", "main.save", "net/http.serverHandler.ServeHTTP",
			"net/http.(*conn).serve",
		})
	}
	s.syscall(1, now+2, answer).at(now+3).wait(1, "network", peek...)
	s.m.turns.end(s.m.goroutines, s.m.now)
	if r := s.one(); r.Parts.Of(CauseUnknown) != 0 || r.Start != 99*us {
		t.Errorf("from %v, unknown %v of %v", r.Start, r.Parts.Of(CauseUnknown), r.Duration())
	}
}
