package reqtrace_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// planted is a service of which some requests wait for what another goroutine has.
type planted struct {
	get  func()           // what a request does
	hold func(had func()) // takes what requests wait for, calls had, keeps it for some time and lets it go

	cause        reqtrace.Cause
	op           string
	site, holder string // functions
	writer       string // likewise, if holder is a reader
	doing        reqtrace.Cause
	doingOp      string
}

// heldFor is longer where the machine is so busy that the holder waits for it, not for what it does.
var heldFor atomic.Int64

func held() time.Duration { return time.Duration(heldFor.Load()) }

//go:noinline
func lookUnder(mu sync.Locker) {
	mu.Lock()
	defer mu.Unlock()
}

//go:noinline
func writeUnder(rw *sync.RWMutex) {
	rw.Lock()
	defer rw.Unlock()
}

//go:noinline
func refreshUnder(mu sync.Locker, had, do func()) {
	mu.Lock()
	had()
	do()
	mu.Unlock()
}

//go:noinline
func takePlace(c chan bool) {
	c <- true
	<-c
}

//go:noinline
func keepPlace(c chan bool, had func()) {
	c <- true
	had()
	time.Sleep(held())
	<-c
}

//go:noinline
func askSlow(url string) {
	if res, err := http.Get(url); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// readSlow is in a system call until there is something to read.
//
//go:noinline
func readSlow(r, w *os.File) {
	time.AfterFunc(held(), func() { _, _ = w.Write([]byte{1}) })
	_, _ = r.Read(make([]byte, 1))
}

func plantedServices(t *testing.T) map[string]planted {
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(held()) }))
	t.Cleanup(slow.Close)
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = pr.Fd() // from now on it blocks
	t.Cleanup(func() {
		pr.Close()
		pw.Close()
	})
	var mu sync.Mutex
	var rw sync.RWMutex
	places := make(chan bool, 1)
	mutex := func(do func(), doing reqtrace.Cause, op string) planted {
		return planted{
			get: func() { lookUnder(&mu) }, hold: func(had func()) { refreshUnder(&mu, had, do) },
			cause: reqtrace.CauseLock, op: "mutex", site: "lookUnder", holder: "refreshUnder", doing: doing,
			doingOp: op,
		}
	}
	return map[string]planted{
		"slept":   mutex(func() { time.Sleep(held()) }, reqtrace.CauseSleep, "sleep"),
		"network": mutex(func() { askSlow(slow.URL) }, reqtrace.CauseNetwork, ""),
		"read":    mutex(func() { readSlow(pr, pw) }, reqtrace.CauseSyscall, "read"),
		"writer behind a reader": {
			get: func() { lookUnder(rw.RLocker()) },
			hold: func(had func()) {
				rw.RLock()
				go writeUnder(&rw)
				for rw.TryRLock() { // until it waits: from then on readers do
					rw.RUnlock()
					runtime.Gosched()
				}
				had()
				time.Sleep(held())
				rw.RUnlock()
			},
			cause: reqtrace.CauseLock, op: "RWMutex",
			site: "lookUnder", holder: "plantedServices", writer: "writeUnder", doing: reqtrace.CauseSleep,
			doingOp: "sleep",
		},
		"semaphore": {
			get: func() { takePlace(places) }, hold: func(had func()) { keepPlace(places, had) },
			cause: reqtrace.CauseChannel, site: "takePlace", holder: "keepPlace", doing: reqtrace.CauseSleep,
			doingOp: "sleep",
		},
	}
}

// TestPlanted: in real programs the function that held what requests wait for is named, with what it did meanwhile, and
// it comes down to that one also where requests wait behind each other.
func TestPlanted(t *testing.T) {
	for name, p := range plantedServices(t) {
		t.Run(name, func(t *testing.T) {
			for d := 15 * time.Millisecond; ; d *= 2 {
				heldFor.Store(int64(d))
				all, right, others := p.judge(t)
				if all >= d && right >= all*3/4 {
					return
				}
				if d > 300*time.Millisecond {
					t.Fatalf("%v of %v are %+v; others:\n%v", right, all, p, others)
				}
			}
		})
	}
}

// judge returns how long requests waited by the cause, how much of that has the right place and
// holder, and what else there is.
func (p *planted) judge(t *testing.T) (all, right time.Duration, others map[string]time.Duration) {
	t.Helper()
	others = map[string]time.Duration{}
	for r, err := range reqtrace.Read(t.Context(), p.trace(t), reqtrace.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		all += r.Parts.Of(p.cause)
		for _, b := range r.Sites {
			if b.Cause == p.cause && b.Op == p.op && b.Doing == p.doing &&
				b.DoingOp == p.doingOp && strings.Contains(b.Site, "."+p.site+" (") &&
				strings.Contains(b.Holder, "."+p.holder) &&
				(b.Writer != "") == (p.writer != "") && strings.Contains(b.Writer, p.writer) {
				right += b.Time
				continue
			}
			d := b.Time
			b.Time, b.Longest = 0, 0
			others[fmt.Sprintf("%+v", b)] += d
		}
	}
	return all, right, others
}

// trace traces requests one by one, and four together where something is held.
func (p *planted) trace(t *testing.T) io.Reader {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	request := func() {
		r := region.Start(context.Background(), "")
		p.get()
		r.End()
		time.Sleep(time.Microsecond) // the wait that ends it
	}
	for range 3 {
		for range 10 {
			request()
		}
		has, over := make(chan bool), make(chan bool)
		go func() {
			p.hold(func() { close(has) })
			close(over)
		}()
		<-has
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(request)
		}
		wg.Wait()
		<-over
	}
	trace.Stop()
	return &buf
}

// TestHalts: what real programs stop the world for is of who asked for it, and never the collector's.
func TestHalts(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for op, stop := range map[string]func(){
		"all goroutines stack trace": func() { runtime.Stack(make([]byte, 1<<16), true) },
		"read mem stats":             func() { runtime.ReadMemStats(new(runtime.MemStats)) },
		"goroutine profile":          func() { _ = pprof.Lookup("goroutine").WriteTo(io.Discard, 0) },
		"GOMAXPROCS":                 func() { runtime.GOMAXPROCS(3 - min(runtime.GOMAXPROCS(0), 2)) },
	} {
		t.Run(op, func(t *testing.T) {
			asked, over := make(chan *atomic.Bool), make(chan bool)
			go func() {
				watchdog(asked, stop)
				close(over)
			}()
			var buf bytes.Buffer
			if err := trace.Start(&buf); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				r := region.Start(context.Background(), "")
				var stopped atomic.Bool
				asked <- &stopped
				for !stopped.Load() {
					runtime.Gosched()
				}
				r.End()
			}
			trace.Stop()
			close(asked)
			<-over
			report, err := reqtrace.Analyze(t.Context(), &buf, reqtrace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if p := report.Total; p.Of(reqtrace.CauseStoppedOther) == 0 || p.Of(reqtrace.CauseStopped) != 0 {
				t.Errorf("%v", p)
			}
			found := false
			for _, b := range report.Tail.Sites {
				if b.Cause == reqtrace.CauseStoppedOther && strings.HasPrefix(b.Op, op) {
					found = found || strings.Contains(b.Holder, "TestHalts")
				}
			}
			if !found {
				t.Errorf("who asked for it is not named: %+v", report.Tail.Sites)
			}
		})
	}
}

// watchdog stops the world when it is asked to.
func watchdog(asked <-chan *atomic.Bool, stop func()) {
	for stopped := range asked {
		stop()
		stopped.Store(true)
	}
}
