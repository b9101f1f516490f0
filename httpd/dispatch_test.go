package httpd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestDispatchAllocatesNothing: a request that comes alone, or with a few, needs no memory to find its worker.
func TestDispatchAllocatesNothing(t *testing.T) {
	s := &server{}
	s.slice.began = time.Now().Add(time.Hour) // no other slice begins
	s.work.ready = s.work.few[:0]
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range []int{1, len(s.work.few)} {
		conns := make([]conn, n)
		allocs := testing.AllocsPerRun(100, func() {
			for i := range conns {
				s.offer(&conns[i])
			}
			for i := range conns {
				w.pool.woken = true // as who makes or wakes it says
				if c, err := s.next(w); c != &conns[i] || err != nil {
					t.Fatal("not the connection that has waited for longest: ", err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations for %d requests, want 0", allocs, n)
		}
	}
	for _, c := range s.work.few {
		if c != nil {
			t.Error("a connection is kept that does not wait any more")
		}
	}
}

// TestWhoSends: the loop sends short answers together where requests come fast, and else their
// workers do, who need not wait for it.
func TestWhoSends(t *testing.T) {
	s := &server{batches: true}
	s.work.ready = s.work.few[:0]
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tt := range []struct{ given, direct int }{{10 * batchRate, pieceSize}, {10, 0}} {
		s.slice.began, s.slice.given = time.Now().Add(-time.Second), tt.given
		s.offer(new(conn))
		w.pool.woken = true
		if _, err := s.next(w); err != nil {
			t.Fatal(err)
		}
		if s.bytes.direct != tt.direct {
			t.Errorf("after %d requests in a second workers send from %d bytes on, want %d", tt.given, s.bytes.direct,
				tt.direct)
		}
	}
}

// TestGivesWay: a worker that finds the slice old lets others run before it begins a request, in
// which the scheduler would take the processor from it.
func TestGivesWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &server{}
	s.work.ready = s.work.few[:0]
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 20 { // a P looks at the queue of all Ps first at each 61st goroutine that it begins
		var other atomic.Bool
		go other.Store(true)
		s.slice.began = time.Now().Add(-time.Second)
		s.offer(new(conn))
		s.offer(new(conn))
		w.pool.woken = true
		if _, err := s.next(w); err != nil {
			t.Fatal(err)
		}
		if other.Load() {
			return
		}
	}
	t.Error("no other goroutine ran before the request")
}

// TestNothingIsKeptBackByRest: what a worker has others call, when it lets its last connection go,
// is called although nothing else moves.
func TestNothingIsKeptBackByRest(t *testing.T) {
	called, ended := make(chan bool, 1), make(chan error, 1)
	s := &server{}
	s.work.decays = time.NewTimer(time.Hour) // none decays
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	w.fresh, w.pool.woken = false, false
	s.callbacks.later = append(s.callbacks.later, func() { called <- true })
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err := s.next(w)
		ended <- err
	}()
	select {
	case <-called:
	case <-time.After(time.Minute): // a hang
		t.Error("it is not called")
	}
	s.mu.Lock()
	w.closed = true
	w.wake()
	s.mu.Unlock()
	if err := <-ended; err == nil {
		t.Error("a closed worker goes on")
	}
}

// TestLongAnswersPassTheLoop: what is long, and on epoll what is short too, is sent by the worker
// itself, so that a request is one operation, a read, and hardly ever more: where the loop works at
// that moment. So the handlers wait until it has nothing to do.
func TestLongAnswersPassTheLoop(t *testing.T) {
	const requests = 200
	for _, tt := range []struct {
		b    aio.Backend
		size int
	}{{aio.BackendEpoll, 64 << 10}, {aio.BackendIOUring, 64 << 10}, {aio.BackendEpoll, 10}} {
		t.Run(fmt.Sprint(tt.b, tt.size), func(t *testing.T) {
			if n := operations(t, tt.b, tt.size, requests); n > 3*requests/2+acceptTurn {
				t.Errorf("%d operations for %d requests: their answers went through the loop", n, requests)
			}
		})
	}
}

// operations returns how many operations it takes to answer requests of one connection with so many bytes each.
func operations(t *testing.T, b aio.Backend, size, requests int) uint64 {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, size)
	srv := &http.Server{}
	stats := func() aio.Stats {
		wrapping.Lock()
		defer wrapping.Unlock()
		return srv.Handler.(*hooks).serving[0].watcher.Stats()
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		// The next read was submitted before this request was given to a worker. The loop waits when that has begun.
		for s := stats(); s.Operations-s.Results < uint64(s.Pending) && r.Context().Err() == nil; s = stats() {
			time.Sleep(10 * time.Microsecond)
		}
		_, _ = w.Write(body)
	})
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), srv, ln, Options{Backend: b}) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(c)
	for range requests {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			select {
			case err = <-ended:
			default:
			}
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); n != int64(size) || err != nil {
			t.Fatal(n, err)
		}
	}
	s := stats()
	if s.BytesWritten < uint64(requests*size) {
		t.Errorf("%d bytes were written, want %d and more", s.BytesWritten, requests*size)
	}
	_ = srv.Close()
	if err := <-ended; err != http.ErrServerClosed {
		t.Error(err)
	}
	return s.Operations
}

// SetFlushLimit has a client take something of what is queued within d, until the test ends; set it
// before a server is started.
func SetFlushLimit(t *testing.T, d time.Duration) {
	before := flushLimit
	flushLimit = d
	t.Cleanup(func() { flushLimit = before })
}

// SetProof has the proof say err, as in a process that has not logged it, until the test ends.
func SetProof(t *testing.T, err error) {
	before, said := prove, unproven
	prove, unproven = func() error { return err }, new(sync.Once)
	t.Cleanup(func() { prove, unproven = before, said })
}
