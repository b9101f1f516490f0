package reqtrace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"iter"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/exp/trace"
)

// pooled is a stack that waits for a connection of database/sql's pool.
func pooled(site string) []string { return []string{"database/sql.(*DB).conn", site} }

// TestHolderWaitedToo: the holder came after the request, and waited for a connection itself. All
// before it had one is the time of who let it go to that one, and not what its goroutine, or the
// one that made it, did before.
func TestHolderWaitedToo(t *testing.T) {
	s := newScript(t, 5)
	s.at(10).create(0, 2).run(2, 2) // it has the connection
	// it makes goroutines for connections
	s.at(20).create(0, 4).run(4, 4).wait(4, "network", "net.(*TCPListener).Accept")
	serve(s)
	s.at(110).wait(1, "select", pooled("main.ask")...)
	s.at(115).move(2, 2, trace.GoRunning, trace.GoSyscall, "", stack("runtime.cgocall", "main._Cfunc_step",
		"main.statement"))
	s.at(150).wake(0, 4).run(4, 4).at(160).create(4, 3).run(3, 3)
	s.at(170).wait(3, "select", pooled("main.other")...)
	s.at(290).move(2, 2, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
	s.at(300).release(2, 3, "main.statement").run(3, 3)
	s.at(310).release(3, 1, "main.other").run(1, 1)
	r := done(s.at(320)).want(map[Cause]int64{CauseRunning: 20, CauseChannel: 200})
	if b := r.Sites[0]; b.Time != 175*time.Microsecond || b.Holder != "main.statement (x.go:7)" ||
		b.Doing != CauseCgo || b.DoingOp != "step" {
		t.Errorf("%+v", b)
	}
	for _, b := range r.Sites {
		if b.Doing == CauseNetwork || b.Op != opPool {
			t.Errorf("%+v", b)
		}
	}
}

// TestHolderUnknown: the holder had something else to do before it took what is waited for, and did
// not wait for it: nobody knows who had it before.
func TestHolderUnknown(t *testing.T) {
	for name, begin := range map[string]func(s *script){
		"born later": func(s *script) { s.at(150).wake(0, 2).run(2, 2).create(2, 3).run(3, 3) },
		"another request before": func(s *script) {
			s.at(150).wake(0, 3).run(3, 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 5)
			s.at(10).create(0, 2).run(2, 2).wait(2, "network", "net.(*TCPListener).Accept")
			if name != "born later" {
				s.create(0, 3).run(3, 3).wait(3, "network", "bufio.(*Reader).Peek", "net/http.(*conn).serve")
			}
			serve(s)
			s.at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.get")
			begin(s)
			s.at(200).release(3, 1, "main.other").run(1, 1)
			r := done(s.at(210)).want(map[Cause]int64{CauseRunning: 20, CauseLock: 90})
			want := []Blame{
				{Time: 50 * time.Microsecond, Holder: "main.other (x.go:7)", Doing: CauseRunning},
				{Time: 40 * time.Microsecond},
			}
			for i, b := range r.Sites[:2] {
				if b.Time != want[i].Time || b.Holder != want[i].Holder || b.Doing != want[i].Doing {
					t.Errorf("%+v, want %+v", b, want[i])
				}
			}
		})
	}
}

// TestChildsWait: what a child of the request waits for is where the child waits for it, though the
// one that it waits for has no name, and called from where the request waits for the child.
func TestChildsWait(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 3).run(3, 3).wait(3, "network", "net/http.(*persistConn).readLoop")
	serve(s)
	s.at(110).create(1, 2).wait(1, "sync", "sync.(*WaitGroup).Wait", "main.join").run(2, 2)
	s.at(120).wait(2, "select", "net/http.(*persistConn).roundTrip", "main.part")
	s.at(300).wake(0, 3).run(3, 3).wake(3, 2).run(2, 2).release(2, 1, "main.join").run(1, 1)
	r := done(s.at(310)).want(map[Cause]int64{CauseRunning: 10 + 10 + 10, CauseNetwork: 180})
	if b := r.Sites[0]; b.Site != "main.part (x.go:7)" || b.Handler != "main.join (x.go:7)" || b.Op != "" {
		t.Errorf("%+v", b)
	}
}

// TestHolderWaitedSinceBefore: the holder waited for the same mutex when the trace began, of which
// its stack alone is told.
func TestHolderWaitedSinceBefore(t *testing.T) {
	s := holds(newScript(t, 4), 2)
	s.at(20).move(0, 3, trace.GoUndetermined, trace.GoWaiting, "", stack("sync.(*Mutex).Lock", "main.get"))
	serve(s).at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.get")
	s.at(190).release(2, 3, "main.trim").run(3, 3)
	s.at(200).release(3, 1, "main.get").run(1, 1)
	done(s.at(210))
	s.wantLargest(80, Blame{
		Cause: CauseLock, Site: "main.get" + at, Call: "sync.(*Mutex).Lock", Op: opMutex,
		Holder: "main.trim" + at, Doing: CauseRunning,
	})
}

// TestHandedOnSinceBefore: what is waited for was handed on by goroutines that waited for it when
// the trace began. They were woken in its first second, so no stack of theirs is told.
func TestHandedOnSinceBefore(t *testing.T) {
	const unlock = "sync.(*Mutex).Unlock"
	for name, tt := range map[string]struct {
		release []string // where goroutine 2 wakes goroutine 3
		holder  string
		doing   Cause
	}{
		"mutex":         {[]string{unlock, "main.trim"}, "main.trim", CauseRunning},
		"another thing": {[]string{"main.trim"}, "main.get", CauseUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := holds(newScript(t, 5), 2)
			serve(s).at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.get")
			before := func(at int64, g int) *script {
				return s.at(at).move(0, g, trace.GoUndetermined, trace.GoWaiting, "", trace.NoStack)
			}
			before(190, 3).release(2, 3, tt.release...).run(3, 3)
			before(195, 4).release(3, 4, unlock, "main.get").run(4, 4)
			s.at(200).release(4, 1, unlock, "main.get").run(1, 1)
			done(s.at(210))
			s.wantLargest(80, Blame{
				Cause: CauseLock, Site: "main.get" + at, Call: "sync.(*Mutex).Lock", Op: opMutex,
				Holder: tt.holder + at, Doing: tt.doing,
			})
		})
	}
}

// TestYield tests that Yield gives the same requests, works only in the caller's goroutine, and
// gives way often. A trace that is cut off, or none, is what it is without Yield.
func TestYield(t *testing.T) {
	f, err := os.Open("testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	all := func(seq iter.Seq2[Request, error]) (list []Request, last error) {
		for q, err := range seq {
			if last = err; err == nil && q.Cut != CutEnd { // which come in no order
				list = append(list, q)
			}
		}
		return list, last
	}
	for name, b := range map[string][]byte{"whole": whole, "cut off": whole[:len(whole)-1000], "none": []byte("none")} {
		want, wantErr := all(Read(t.Context(), bytes.NewReader(b), Options{}))
		before, most, calls := runtime.NumGoroutine(), 0, 0
		got, gotErr := all(Read(t.Context(), bytes.NewReader(b),
			Options{Yield: func() { most, calls = max(most, runtime.NumGoroutine()), calls+1 }}))
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b Parts) bool { return a == b })); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		if (wantErr == nil) != (gotErr == nil) || errors.Is(wantErr, ErrBroken) != errors.Is(gotErr, ErrBroken) {
			t.Errorf("%s: %v, want %v", name, gotErr, wantErr)
		}
		if most > before || calls <= len(got)/4 {
			t.Errorf("%s: %d calls for %d requests, %d goroutines of %d before", name, calls, len(got), most, before)
		}
	}
}

const sqliteLib = "modernc.org/sqlite/lib."

// sqlite is a stack of SQLite that a function of the program called.
func sqlite(site string, inner ...string) []string {
	const library, std = "modernc.org/sqlite.(*conn).ExecContext", "database/sql.(*DB).ExecContext"
	return append(inner, sqliteLib+"Xsqlite3_step", library, std, site)
}

// locks makes g take SQLite's lock, or try to.
func (s *script) locks(g int, site string) *script {
	return s.fcntl(g, site, sqliteLib+"_unixLock", sqliteLib+"_sqlite3BtreeBeginTrans")
}

func (s *script) unlocks(g int, site string) *script {
	return s.fcntl(g, site, sqliteLib+"_unixUnlock", sqliteLib+"_pager_end_transaction")
}

func (s *script) fcntl(g int, site string, outer ...string) *script {
	return s.call(g, s.now, sqlite(site, append([]string{"syscall.Syscall", "modernc.org/libc.Xfcntl"},
		outer...)...)...)
}

// busyCall makes g begin to sleep in SQLite's busy handler.
func (s *script) busyCall(g int, site string) *script {
	const invoke = sqliteLib + "_sqlite3InvokeBusyHandler"
	return s.wait(g, "select", sqlite(site, "runtime.selectgo", "modernc.org/sqlite.busyHandler", invoke)...)
}

// busy makes g sleep in SQLite's busy handler from now until a time.
func (s *script) busy(g int, to int64, site string) *script {
	return s.busyCall(g, site).at(to).wake(0, g).run(g, g)
}

// TestSQLiteBusy tests that a sleep for SQLite's lock is a wait for the transaction that holds it,
// if this process has that transaction.
func TestSQLiteBusy(t *testing.T) {
	holder := Blame{Holder: "main.month" + at, Doing: CauseSleep, DoingAt: "main.rest" + at, DoingOp: "sleep"}
	rests := func(s *script, to int64) {
		s.wait(2, "sleep", "time.Sleep", "main.rest", "main.month").at(to).wake(0, 2).run(2, 2)
	}
	for name, tt := range map[string]struct {
		play func(s *script) // from 110 to 300
		us   int64
		want Blame
	}{
		"two sleeps": {func(s *script) {
			s.locks(2, "main.month")
			s.at(111).locks(1, "main.post")
			s.busyCall(1, "main.post")
			rests(s.at(112), 280)
			s.at(281).unlocks(2, "main.month")
			s.at(300).wake(0, 1).run(1, 1)
		}, 168, holder},
		"another database's": {func(s *script) {
			s.at(111).locks(1, "main.post")
			s.busyCall(1, "main.post")
			s.at(150).locks(2, "main.month").at(200).unlocks(2, "main.month")
			s.at(300).wake(0, 1).run(1, 1)
		}, 189, Blame{}},
		"another process's": {func(s *script) {
			s.locks(2, "main.month")
			s.at(111).locks(1, "main.post").busy(1, 300, "main.post").unlocks(1, "main.post")
			s.at(301).unlocks(2, "main.month")
		}, 189, Blame{}},
		"by a call of the kernel's": {func(s *script) {
			s.locks(2, "main.month")
			s.at(111).locks(1, "main.post")
			sleep := []string{"syscall.Syscall", "modernc.org/libc.Xnanosleep", sqliteLib + "_unixSleep", sqliteLib +
				"_sqlite3InvokeBusyHandler"}
			s.move(1, 1, trace.GoRunning, trace.GoSyscall, "", stack(sqlite("main.post", sleep...)...))
			rests(s.at(112), 280)
			s.at(281).unlocks(2, "main.month")
			s.at(300).move(1, 1, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
		}, 168, holder},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(holds(newScript(t, 5), 2))
			tt.play(s.at(110))
			done(s.at(310))
			b, d := s.largest()
			inside := b.Inside
			tt.want.Cause, tt.want.Op, tt.want.Inside = CauseSleep, opSQLite, inside
			tt.want.Site, tt.want.Call = "main.post"+at, "sql.(*DB).ExecContext"
			if b != tt.want || d != time.Duration(tt.us)*time.Microsecond || inside == "" {
				t.Errorf("%v of %+v\nwant %dµs of %+v", d, b, tt.us, tt.want)
			}
		})
	}
}

// TestHeldSinceFirstSleep tests that the hold is counted from the first sleep on.
func TestHeldSinceFirstSleep(t *testing.T) {
	s := serve(holds(newScript(t, 5), 2))
	s.at(105).locks(2, "main.month")
	s.at(110).locks(1, "main.post").busy(1, 150, "main.post")
	s.locks(1, "main.post").busy(1, 200, "main.post").locks(1, "main.post")
	s.busyCall(1, "main.post")
	s.at(290).unlocks(2, "main.month").at(300).wake(0, 1).run(1, 1)
	done(s.at(310))
	b := s.one().Sites[0]
	if held := 180 * time.Microsecond; b.Time != held || b.Longest != held || b.Holder != "main.month"+at ||
		b.Doing != CauseRunning {
		t.Errorf("%+v", b)
	}
}

// TestNaps tests which function of a library sleeps, and what for. What such a library calls may
// wait for something else.
func TestNaps(t *testing.T) {
	for name, tt := range map[string]struct {
		stack      string
		op, inside string
	}{
		"a retry": {`
time.Sleep GOROOT/time/time.go:363
k8s.io/utils/clock.RealClock.Sleep MOD/k8s.io/utils@v0.0.1/clock/clock.go:9
k8s.io/apimachinery/pkg/util/wait.ExponentialBackoff MOD/k8s.io/apimachinery@v0.32.3/pkg/util/wait/backoff.go:467
k8s.io/client-go/util/retry.OnError MOD/k8s.io/client-go@v0.32.3/util/retry/util.go:50
main.save /srv/app/main.go:10`, opRetry, "wait.ExponentialBackoff (backoff.go:467 in k8s.io/apimachinery)"},
		"an attempt": {`
internal/poll.(*FD).Read GOROOT/internal/poll/fd_unix.go:165
net.(*netFD).Read GOROOT/net/fd_posix.go:68
net/http.(*Client).Do GOROOT/net/http/client.go:587
github.com/hashicorp/go-retryablehttp.(*Client).Do MOD/github.com/hashicorp/go-retryablehttp@v0.7.8/client.go:700
main.save /srv/app/main.go:10`, "", ""},
		"what an attempt calls": {`
sync.(*Mutex).Lock GOROOT/sync/mutex.go:46
example.com/m/cache.(*Cache).Get MOD/example.com/m@v1.0.0/cache/cache.go:9
github.com/avast/retry-go/v4.Do MOD/github.com/avast/retry-go/v4@v4.6.0/retry.go:9
main.save /srv/app/main.go:10`, opMutex, ""},
		"what an attempt waits for": {`
runtime.selectgo GOROOT/runtime/select.go:351
example.com/m/cache.(*Cache).Get MOD/example.com/m@v1.0.0/cache/cache.go:9
github.com/avast/retry-go/v4.Do MOD/github.com/avast/retry-go/v4@v4.6.0/retry.go:9
main.save /srv/app/main.go:10`, "", "cache.(*Cache).Get (cache.go:9 in example.com/m)"},
		"a limiter in a limiter": {
			`
runtime.selectgo GOROOT/runtime/select.go:351
golang.org/x/time/rate.(*Limiter).wait MOD/golang.org/x/time@v0.9.0/rate/rate.go:285
golang.org/x/time/rate.(*Limiter).Wait MOD/golang.org/x/time@v0.9.0/rate/rate.go:239
k8s.io/client-go/util/flowcontrol.(*tokenBucketRateLimiter).Wait
	MOD/k8s.io/client-go@v0.32.3/util/flowcontrol/throttle.go:170
main.save /srv/app/main.go:10`, opLimiter,
			"flowcontrol.(*tokenBucketRateLimiter).Wait (throttle.go:170 in k8s.io/client-go)",
		},
		"one that is not known": {`
time.Sleep GOROOT/time/time.go:363
example.com/m/poll.Until MOD/example.com/m@v1.0.0/poll/poll.go:9
main.save /srv/app/main.go:10`, "sleep", "poll.Until (poll.go:9 in example.com/m)"},
		"the program": {"time.Sleep GOROOT/time/time.go:363\nmain.save /srv/app/main.go:10", "sleep", ""},
	} {
		frames := framesOf(t, tt.stack)
		p, i := placeOf(frames, handlerOf(frames))
		inside := ""
		if i >= 0 {
			inside = siteOf(&frames[i].StackFrame)
		}
		if p.op != tt.op || inside != tt.inside || p.site != "main.save (main.go:10)" {
			t.Errorf("%s: %q in %q, want %q in %q; %+v", name, p.op, inside, tt.op, tt.inside, p)
		}
	}
}
