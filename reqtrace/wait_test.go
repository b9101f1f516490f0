package reqtrace

import (
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

// release lets by end g's wait, in these functions.
func (s *script) release(by, g int, funcs ...string) *script {
	return s.move(by, g, trace.GoWaiting, trace.GoRunnable, "", stack(funcs...))
}

// call has g be in a system call, or in C, from now to a time.
func (s *script) call(g int, to int64, funcs ...string) *script {
	s.move(g, g, trace.GoRunning, trace.GoSyscall, "", stack(funcs...))
	return s.at(to).move(g, g, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
}

// holds makes goroutines that run from 10 on, each on the processor of its number.
func holds(s *script, gs ...int) *script {
	s.at(10)
	for _, g := range gs {
		s.create(0, g).run(g, g)
	}
	return s
}

// largest returns the largest place of the only request, without its times, and its time.
func (s *script) largest() (Blame, time.Duration) {
	s.t.Helper()
	r := s.one()
	b := r.Sites[0]
	d := b.Time
	b.Time, b.Longest = 0, 0
	return b, d
}

func (s *script) wantLargest(us int64, want Blame) {
	s.t.Helper()
	if b, d := s.largest(); b != want || d != time.Duration(us)*time.Microsecond {
		s.t.Errorf("%v of %+v\nwant %dµs of %+v", d, b, us, want)
	}
}

const at = " (x.go:7)"

// TestHolder: who held a mutex is named by where it let go, with what it did meanwhile.
func TestHolder(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(*script) // of goroutine 2, from 120 to 200
		doing     Cause
		at, op    string
	}{
		"ran": {func(s *script) {}, CauseRunning, "", ""},
		"network": {func(s *script) {
			s.wait(2, "network", "net.(*conn).Read", "main.refresh").at(200).wake(0, 2).run(2,
				2)
		}, CauseNetwork, "main.refresh" + at, ""},
		"slept": {func(s *script) {
			s.wait(2, "sleep", "time.Sleep", "main.rest", "main.refresh").at(200).wake(0, 2).run(2, 2)
		}, CauseSleep, "main.rest" + at, "sleep"},
		"limiter": {func(s *script) {
			s.wait(2, "select", "golang.org/x/time/rate.(*Limiter).wait", "main.refresh").at(200).wake(0, 2).run(2, 2)
		}, CauseSleep, "main.refresh" + at, "rate limiter"},
		"fsync": {func(s *script) {
			s.call(2, 200, "syscall.Syscall", "syscall.Fsync", "os.(*File).Sync",
				"main.refresh")
		}, CauseSyscall, "main.refresh" + at, "fsync"},
		"C": {
			func(s *script) { s.call(2, 200, "main._Cfunc_step", "main.refresh") }, CauseCgo, "main.refresh" + at,
			"step",
		},
		"an upstream, by net/http's goroutine": {func(s *script) {
			s.wait(2, "select", "net/http.(*persistConn).roundTrip", "main.refresh")
			s.at(199).wake(0, 3).run(3, 3).at(200).release(3, 2, "net/http.(*persistConn).readLoop").run(2, 2)
		}, CauseNetwork, "main.refresh" + at, ""},
		"a worker's fsync": {func(s *script) {
			s.wait(2, "chan receive", "main.refresh").call(4, 199, "syscall.Fsync", "main.flush").at(200).release(4, 2,
				"main.work").run(2, 2)
		}, CauseSyscall, "main.flush" + at, "fsync"},
		"a lock that nobody is known to hold": {func(s *script) {
			s.wait(2, "sync",
				"sync.(*Mutex).Lock", "main.refresh").at(200).wake(0, 2).run(2, 2)
		}, CauseLock, "main.refresh" + at, "mutex"},
	} {
		t.Run(name, func(t *testing.T) {
			s := holds(newScript(t, 9), 2, 3, 4)
			s.at(20).wait(3, "network", "net/http.(*persistConn).readLoop")
			serve(s).at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.look", "main.api",
				"net/http.HandlerFunc.ServeHTTP")
			tt.meanwhile(s.at(120))
			done(s.at(210).release(2, 1, "sync.(*Mutex).Unlock", "main.refresh").run(1, 1).at(220))
			want := int64(80)
			if tt.doing == CauseRunning {
				want = 100
			}
			b, d := s.largest()
			if name == "an upstream, by net/http's goroutine" || name == "a worker's fsync" {
				want-- // in which that one ran
			}
			if d != time.Duration(want)*time.Microsecond {
				t.Errorf("%v, want %d µs", d, want)
			}
			inside := ""
			if name == "limiter" {
				inside = "rate.(*Limiter).wait" + in("golang.org/x/time/rate")
			}
			if w := (Blame{
				Cause: CauseLock, Site: "main.look" + at, Call: "sync.(*Mutex).Lock", Op: "mutex", Inside: inside,
				Handler: "main.api" + at,
				Holder:  "main.refresh" + at, Doing: tt.doing, DoingAt: tt.at, DoingOp: tt.op,
			}); b != w {
				t.Errorf("%+v\nwant %+v", b, w)
			}
		})
	}
}

// TestRoots: in a convoy each hand-off names a waiter's own line. Who began it is the holder.
func TestRoots(t *testing.T) {
	const waiters = 20
	s := newScript(t, waiters+10)
	holds(s, 2)
	for i := range waiters {
		holds(s, 10+i)
	}
	serve(s)
	for i := range waiters {
		s.at(int64(101+i)).wait(10+i, "sync", "sync.(*Mutex).Lock", "main.look")
	}
	s.at(130).wait(1, "sync", "sync.(*Mutex).Lock", "main.look")
	s.at(140).wait(2, "network", "main.refresh").at(500).wake(0, 2).run(2, 2)
	s.at(501).release(2, 10, "main.refresh").run(10, 10)
	for i := range waiters {
		next := 11 + i
		if i == waiters-1 {
			next = 1
		}
		s.at(int64(502+i)).release(10+i, next, "sync.(*Mutex).Unlock", "main.look").run(next, next)
	}
	done(s.at(530))
	s.wantLargest(360, Blame{
		Cause: CauseLock, Site: "main.look" + at,
		Call: "sync.(*Mutex).Lock", Op: "mutex", Holder: "main.refresh" + at, Doing: CauseNetwork,
		DoingAt: "main.refresh" + at,
	})
}

// TestFreeStream tests a gRPC call that waits until the connection has fewer calls. The goroutine
// that reads for all calls ends that wait, and its own wait for the network is not the cause. What
// NewStream calls may wait for a lock.
func TestFreeStream(t *testing.T) {
	const transport = "google.golang.org/grpc/internal/transport."
	call := []string{transport + "(*http2Client).NewStream", "google.golang.org/grpc.(*ClientConn).Invoke", "main.ask"}
	for name, tt := range map[string]struct {
		reason string
		inner  []string
		want   Blame
	}{
		"stream": {"select", []string{"runtime.selectgo"}, Blame{Cause: CauseChannel, Op: opStream}},
		"mutex": {
			"sync",
			[]string{"sync.(*Mutex).Lock", transport + "(*controlBuffer).executeAndPut"},
			Blame{Cause: CauseLock, Op: opMutex, Doing: CauseNetwork, Holder: "transport.(*http2Client).closeStream" +
				in("google.golang.org/grpc/internal/transport"), DoingAt: "transport.(*framer).readFrame" +
				in("google.golang.org/grpc/internal/transport")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := holds(newScript(t, 5), 2)
			s.at(20).wait(2, "network", "internal/poll.(*FD).Read", transport+"(*framer).readFrame")
			serve(s).at(110).wait(1, tt.reason, append(tt.inner, call...)...)
			s.at(199).wake(0, 2).run(2, 2).at(200).release(2, 1, transport+"(*http2Client).closeStream").run(1, 1)
			done(s.at(210))
			b, d := s.largest()
			tt.want.Site, tt.want.Call = "main.ask"+at, "grpc.(*ClientConn).Invoke"
			if b != tt.want || d < 89*time.Microsecond {
				t.Errorf("%v of %+v\nwant %+v", d, b, tt.want)
			}
		})
	}
}

// in is the place of a function of a library's package, named after it.
func in(module string) string { return " (x.go:7 in " + module + ")" }

// TestWriterBehindReaders tests that a request that waits to read names the writer before it and
// the reader that the writer waits for.
func TestWriterBehindReaders(t *testing.T) {
	s := holds(newScript(t, 9), 2, 3)
	s.at(50).wait(2, "sync", "sync.(*RWMutex).Lock", "main.replace")
	serve(s).at(110).wait(1, "sync", "sync.(*RWMutex).RLock", "main.look")
	s.at(120).call(3, 300, "syscall.write", "main.export")
	s.at(301).release(3, 2, "sync.(*RWMutex).RUnlock", "main.export").run(2, 2)
	done(s.at(303).release(2, 1, "sync.(*RWMutex).Unlock", "main.replace").run(1, 1).at(310))
	s.wantLargest(180, Blame{
		Cause: CauseLock, Site: "main.look" + at, Call: "sync.(*RWMutex).RLock", Op: "RWMutex",
		Holder: "main.export" + at, Writer: "main.replace" + at, Doing: CauseSyscall, DoingAt: "main.export" + at,
		DoingOp: "write",
	})
}

// TestRequestWrites tests a request that is the writer, or that waits behind the writer.
func TestRequestWrites(t *testing.T) {
	const lock, unlock, runlock = "sync.(*RWMutex).Lock", "sync.(*RWMutex).Unlock", "sync.(*RWMutex).RUnlock"
	for name, tt := range map[string]struct {
		wait   func(s *script)
		writer string
	}{
		"it is the writer": {
			func(s *script) {
				s.wait(1, "sync", lock, "main.put")
				s.at(200).release(3, 1, runlock, "main.export")
			}, "",
		},
		"it is behind the writer": {
			func(s *script) {
				s.wait(2, "sync", lock, "main.replace").wait(1, "sync", "sync.(*Mutex).Lock", lock, "main.put")
				s.at(200).release(3, 2, runlock, "main.export").run(2, 2)
				s.release(2, 1, "sync.(*Mutex).Unlock", unlock, "main.replace")
			}, "main.replace" + at,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := holds(newScript(t, 9), 2, 3)
			tt.wait(serve(s).at(110))
			done(s.run(1, 1).at(210))
			s.wantLargest(90, Blame{
				Cause: CauseLock,
				Site:  "main.put" + at, Call: lock, Op: opRWMutex, Holder: "main.export" + at, Writer: tt.writer,
				Doing: CauseRunning,
			})
		})
	}
}

// TestLockBehindLock: who holds one lock waits for another.
func TestLockBehindLock(t *testing.T) {
	s := holds(newScript(t, 9), 2, 3)
	serve(s).at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.look")
	s.at(111).wait(2, "sync", "sync.(*Mutex).Lock", "main.refresh")
	s.at(120).call(3, 300, "syscall.Fdatasync", "main.flush")
	s.at(301).release(3, 2, "sync.(*Mutex).Unlock", "main.flush").run(2, 2)
	done(s.at(303).release(2, 1, "sync.(*Mutex).Unlock", "main.refresh").run(1, 1).at(310))
	s.wantLargest(180, Blame{
		Cause: CauseLock, Site: "main.look" + at, Call: "sync.(*Mutex).Lock", Op: "mutex",
		Holder: "main.flush" + at, Doing: CauseSyscall, DoingAt: "main.flush" + at, DoingOp: "fdatasync",
	})
}

// TestResources: who has a connection of a pool, or a place in a semaphore, does not work for who waits for it,
// whatever it did since it woke somebody else.
func TestResources(t *testing.T) {
	for name, tt := range map[string]struct {
		reason  string
		wait    []string
		other   bool // the holder is another request
		call    string
		op      string
		release []string
	}{
		"database/sql": {
			"select",
			[]string{"database/sql.(*DB).conn", "database/sql.(*DB).Query", "main.look"},
			false, "sql.(*DB).Query", "connection pool",
			[]string{"database/sql.(*DB).putConn", "database/sql.(*Rows).Close", "main.report"},
		},
		"x/sync's semaphore": {
			"select",
			[]string{"golang.org/x/sync/semaphore.(*Weighted).Acquire", "main.look"},
			false, "semaphore.(*Weighted).Acquire", "semaphore",
			[]string{"golang.org/x/sync/semaphore.(*Weighted).Release", "main.report"},
		},
		"a channel that is full": {
			"chan send",
			[]string{"main.look"},
			false, "", "",
			[]string{"main.report"},
		},
		"a channel of tokens, of requests": {
			"chan receive",
			[]string{"main.look"},
			true, "", "",
			[]string{"main.report"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 9)
			if s.at(10).born(2).at(20).wake(0, 2).run(2, 2); tt.other {
				s.begin(2)
			}
			serve(s).at(110).wait(1, tt.reason, tt.wait...)
			s.at(120).wait(2, "network", "main.report").at(300).wake(0, 2).run(2, 2)
			s.at(310).release(2, 1, tt.release...).run(1, 1)
			r := done(s.at(320)).want(map[Cause]int64{CauseRunning: 20, CauseChannel: 200})
			if r.Sites[0].Longest != 200*time.Microsecond {
				t.Errorf("%v at a stretch", r.Sites[0].Longest)
			}
			s.wantLargest(180, Blame{Cause: CauseChannel, Site: "main.look" +
				at, Call: tt.call, Op: tt.op, Holder: "main.report" + at, Doing: CauseNetwork, DoingAt: "main.report" +
				at})
		})
	}
}

// TestPoolHandedOn: database/sql hands a connection to any of those that wait, so who came later
// may have it first. What that one did before it had the connection held nobody up: who had it then
// did.
func TestPoolHandedOn(t *testing.T) {
	conn := []string{"database/sql.(*DB).conn", "database/sql.(*DB).Query", "main.look"}
	closes := func(f string) []string {
		return []string{"database/sql.(*DB).putConn", "database/sql.(*Rows).Close", f}
	}
	s := newScript(t, 9)
	s.at(10).born(2).at(20).wake(0, 2).run(2, 2).born(3).at(30).wake(0, 3).run(3, 3)
	s.at(50).wait(2, "network", "main.idle")
	serve(s).at(110).wait(1, "select", conn...)
	s.at(120).wait(3, "sleep", "main.report")
	s.at(250).wake(0, 2).run(2, 2).at(255).wait(2, "select", conn...)
	s.at(300).wake(0, 3).run(3, 3).release(3, 2, closes("main.report")...).run(2, 2)
	done(s.at(310).release(2, 1, closes("main.look")...).run(1, 1).at(320)).want(map[Cause]int64{
		CauseRunning: 20,
		CauseChannel: 200,
	})
	s.wantLargest(180, Blame{
		Cause: CauseChannel, Site: "main.look" + at,
		Call: "sql.(*DB).Query", Op: "connection pool", Holder: "main.report" + at, Doing: CauseSleep,
		DoingAt: "main.report" + at,
	})
}

// TestSingleflight: who asks for what another request is about to have waits for what that one does.
func TestSingleflight(t *testing.T) {
	s := newScript(t, 9)
	s.at(10).born(2).at(20).wake(0, 2).run(2, 2).begin(2)
	serve(s).at(110).wait(1, "sync", "sync.(*WaitGroup).Wait", "golang.org/x/sync/singleflight.(*Group).Do",
		"main.price")
	s.at(120).wait(2, "network", "main.fetch", "main.price").at(300).wake(0, 2).run(2, 2)
	done(s.at(310).release(2, 1, "sync.(*WaitGroup).Done", "golang.org/x/sync/singleflight.(*Group).doCall",
		"main.price").run(1, 1).at(320))
	s.wantLargest(180, Blame{
		Cause: CauseLock, Site: "main.price" + at, Call: "singleflight.(*Group).Do", Op: "singleflight",
		Holder: "main.price" + at, Doing: CauseNetwork, DoingAt: "main.fetch" + at,
	})
}

// TestStorage: a request waits for a channel, behind a goroutine that waits for a lock which is held during a system
// call, as in etcd: that is the root, however many goroutines lie between.
func TestStorage(t *testing.T) {
	s := holds(newScript(t, 9), 2, 3, 4, 5)
	s.at(20).wait(2, "chan receive", "main.apply").at(30).wait(3, "sync", "sync.(*Mutex).Lock",
		"main.(*backend).begin").at(40).wait(5, "select", "main.idle")
	serve(s).at(110).wait(1, "select", "main.propose")
	s.at(120).call(4, 300, "syscall.Syscall", "syscall.Fdatasync", "bbolt.fdatasync", "bbolt.(*Tx).Commit")
	s.at(301).release(4, 3, "sync.(*Mutex).Unlock", "main.commit").run(3, 3)
	s.at(302).release(3, 2, "main.raft").run(2, 2).at(303).release(2, 5, "main.apply") // it wakes another first
	done(s.at(304).release(2, 1, "main.apply").run(1, 1).at(310))
	s.wantLargest(180, Blame{
		Cause: CauseChannel, Site: "main.propose" + at, Holder: "main.commit" + at, Doing: CauseSyscall,
		DoingAt: "bbolt.fdatasync" + at, DoingOp: "fdatasync",
	})
}

// TestWorkersPlace: what a worker does for a request is named where it does it, and where the request waits for it.
func TestWorkersPlace(t *testing.T) {
	s := holds(newScript(t, 9), 2)
	s.at(20).wait(2, "chan receive", "main.work")
	serve(s).at(110).release(1, 2, "main.submit").wait(1, "chan receive", "main.submit", "main.api",
		"net/http.HandlerFunc.ServeHTTP").run(2, 2)
	s.at(120).call(2, 300, "syscall.fsync", "main.save", "main.work")
	done(s.at(310).release(2, 1, "main.work").run(1, 1).at(320))
	s.wantLargest(180, Blame{
		Cause: CauseSyscall, Site: "main.save" + at, Op: "fsync", Call: "syscall.fsync",
		Handler: "main.api" + at,
	})
}

// TestUpstreamsPlace: a library's goroutine that reads for a request is not its place.
func TestUpstreamsPlace(t *testing.T) {
	s := holds(newScript(t, 9), 2)
	s.at(20).wait(2, "network", "net.(*conn).Read", "net/http.(*persistConn).readLoop")
	serve(s).at(110).wait(1, "select", "net/http.(*persistConn).roundTrip", "net/http.(*Client).Do", "main.ask")
	done(s.at(300).wake(0, 2).run(2, 2).at(301).release(2, 1, "net/http.(*persistConn).readLoop").run(1, 1).at(310))
	s.wantLargest(190, Blame{Cause: CauseNetwork, Site: "main.ask" + at, Call: "http.(*Client).Do"})
}

// TestTimers are named by who set them.
func TestTimers(t *testing.T) {
	for op, funcs := range map[string][]string{
		"rate limiter": {"golang.org/x/time/rate.(*Limiter).wait", "main.limited"},
		"sleep":        {"time.Sleep", "main.limited"}, "": {"main.limited"},
	} {
		s := serve(newScript(t, 2))
		done(s.at(110).wait(1, "select", funcs...).at(300).wake(0, 1).run(1, 1).at(310))
		if b, _ := s.largest(); b.Cause != CauseSleep || b.Op != op || b.Site != "main.limited"+at || b.Holder != "" {
			t.Errorf("%q: %+v", op, b)
		}
	}
}

// TestRanInstead: who had the processor is named by where it was last seen, not by what it began with; another
// request of which no more is known is called that.
func TestRanInstead(t *testing.T) {
	wait := []string{"bufio.(*Reader).Peek", "net/http.(*conn).serve"}
	for name, tt := range map[string]struct {
		entry       string
		before, end func(*script) // of goroutine 2, at 50 and at 400
		want        string
	}{
		"preempted": {
			"main.entry",
			func(s *script) {
				s.off(2, trace.GoRunnable, "preempted", "runtime.asyncPreempt", "main.hash", "main.entry").run(2, 1)
			},
			func(s *script) { s.off(2, trace.GoNotExist, "") }, "main.hash" + at,
		},
		"another request": {
			"net/http.(*conn).serve",
			func(s *script) { s.wait(2, "network", wait...).wake(0, 2).run(2, 1) },
			func(s *script) { s.wait(2, "network", wait...) }, "other requests",
		},
		"ended": {"main.entry", func(*script) {}, func(s *script) { s.off(2, trace.GoNotExist, "") }, "main.entry" +
			at},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 1).at(10).born(1)
			s.at(20).move(0, 2, trace.GoNotExist, trace.GoRunnable, "", stack(tt.entry)).run(2, 1)
			tt.before(s.at(50))
			s.at(100).wake(0, 1)
			tt.end(s.at(400))
			done(s.run(1, 1).begin(1).at(410))
			if b, _ := s.largest(); b.Cause != CauseRunqueueBusy || b.Holder != tt.want || b.Site != "" {
				t.Errorf("%+v", b)
			}
		})
	}
}

// TestQueueBehindBurst: a burst of computing leaves a queue of short ones. What they all wait for
// is the burst, not who was before each of them.
func TestQueueBehindBurst(t *testing.T) {
	s := newScript(t, 1).at(10).born(1)
	s.at(20).move(0, 2, trace.GoNotExist, trace.GoRunnable, "", stack("main.burn")).run(2, 1)
	s.at(30).move(0, 3, trace.GoNotExist, trace.GoRunnable, "", stack("main.short"))
	s.at(100).wake(0, 1)
	s.at(800).off(2, trace.GoRunnable, "preempted", "main.hash", "main.burn").run(3, 1)
	s.at(850).off(3, trace.GoNotExist, "")
	done(s.run(1, 1).begin(1).at(860)).want(map[Cause]int64{CauseRunqueueBusy: 750, CauseRunning: 10})
	s.wantLargest(750, Blame{Cause: CauseRunqueueBusy, Holder: "main.hash" + at})
	if d := s.one().Sites[0].Longest; d != 750*time.Microsecond {
		// it ran for longer, but the request did not wait for that
		t.Errorf("%v at a time", d)
	}
}
