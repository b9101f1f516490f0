package reqtrace

import (
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

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
