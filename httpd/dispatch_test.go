package httpd

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

// loopOf returns the only loop of s, without a Watcher.
func loopOf(s *server) *loop {
	s.bounds.Loops = 1
	s.needed.L, s.ended.L = &s.mu, &s.mu
	l := &loop{server: s}
	l.work.ready = l.work.few[:0]
	s.loops = []*loop{l}
	return l
}

// TestDispatchAllocatesNothing: a request that comes alone, or with a few, needs no memory to find its worker.
func TestDispatchAllocatesNothing(t *testing.T) {
	l := loopOf(&server{})
	l.slice.began = time.Now().Add(time.Hour) // no other slice begins
	w := newWorker(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range []int{1, len(l.work.few)} {
		conns := make([]conn, n)
		allocs := testing.AllocsPerRun(100, func() {
			for i := range conns {
				l.offer(&conns[i])
			}
			for i := range conns {
				w.pool.woken = true // as who makes or wakes it says
				if c, err := l.next(w); c != &conns[i] || err != nil {
					t.Fatal("not the connection that has waited for longest: ", err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations for %d requests, want 0", allocs, n)
		}
	}
	for _, c := range l.work.few {
		if c != nil {
			t.Error("a connection is kept that does not wait any more")
		}
	}
}

// TestWhoSends: the loop sends short answers together where requests come fast, and else their
// workers do, who need not wait for it.
func TestWhoSends(t *testing.T) {
	l := loopOf(&server{})
	l.batches = true
	w := newWorker(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tt := range []struct{ given, direct int }{{10 * batchRate, pieceSize}, {10, 0}} {
		l.slice.began, l.slice.given = time.Now().Add(-time.Second), tt.given
		l.offer(new(conn))
		w.pool.woken = true
		if _, err := l.next(w); err != nil {
			t.Fatal(err)
		}
		if l.bytes.direct != tt.direct {
			t.Errorf("after %d requests in a second workers send from %d bytes on, want %d", tt.given, l.bytes.direct,
				tt.direct)
		}
	}
}

// TestGivesWay: a worker that finds the slice old lets others run before it begins a request, in
// which the scheduler would take the processor from it.
func TestGivesWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l := loopOf(&server{})
	w := newWorker(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 20 { // a P looks at the queue of all Ps first at each 61st goroutine that it begins
		var other atomic.Bool
		go other.Store(true)
		l.slice.began = time.Now().Add(-time.Second)
		l.offer(new(conn))
		l.offer(new(conn))
		w.pool.woken = true
		if _, err := l.next(w); err != nil {
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
	l := loopOf(&server{})
	l.work.decays = time.NewTimer(time.Hour) // none decays
	w := newWorker(l)
	w.fresh, w.pool.woken = false, false
	l.callbacks.later = append(l.callbacks.later, func() { called <- true })
	go func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err := l.next(w)
		ended <- err
	}()
	select {
	case <-called:
	case <-time.After(time.Minute): // a hang
		t.Error("it is not called")
	}
	l.mu.Lock()
	w.closed = true
	w.wake()
	l.mu.Unlock()
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
	watcher := func() *aio.Watcher {
		wrapping.Lock()
		defer wrapping.Unlock()
		return srv.Handler.(*hooks).serving[0].first.watcher
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		// The next read was submitted before this request was given to a worker. The loop waits when that has begun.
		loop := watcher()
		begun := func() bool { s := loop.Stats(); return s.Operations-s.Results >= uint64(s.Pending) }
		for !begun() && r.Context().Err() == nil {
			time.Sleep(10 * time.Microsecond)
		}
		_, _ = w.Write(body)
	})
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), srv, ln, Options{Backend: b, Loops: 1}) }()
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
	loop := watcher()
	_ = srv.Close()
	if err := <-ended; err != http.ErrServerClosed {
		t.Error(err)
	}
	s := loop.Stats() // the last send is counted after the client has its bytes
	if s.BytesWritten < uint64(requests*size) {
		t.Errorf("%d bytes were written, want %d and more", s.BytesWritten, requests*size)
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

// TestWheel: connections with deadlines of all lengths, in any order, are found when their time is
// over, and not before; also when nobody looked for long.
func TestWheel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var w wheel
	left := map[*conn]bool{}
	for now := time.Duration(0); now < 4*ticks*tick; now += time.Duration(rng.Int64N(int64(ticks * tick / 40))) {
		for c := range w.over(now) {
			if c.until > now {
				t.Fatalf("one of %v is over at %v", c.until, now)
			}
			w.list(c).remove(c)
			delete(left, c)
		}
		for c := range left {
			if c.until > 0 && c.until/tick < now/tick {
				t.Fatalf("one of %v is not over at %v", c.until, now)
			}
			if rng.IntN(10) == 0 {
				w.list(c).remove(c)
				delete(left, c)
			}
		}
		next := w.next()
		for c := range left {
			if c.until > 0 && c.until < now+ticks*tick && (next == 0 || next > (c.until/tick+1)*tick) {
				t.Fatalf("looks at %v after %v, though one is over at %v", next, now, c.until)
			}
		}
		for range 20 {
			c := &conn{}
			if rng.IntN(10) > 0 {
				c.until = now + 1 + time.Duration(rng.Int64N(int64(2*ticks*tick)))
			}
			w.list(c).push(c)
			left[c] = true
		}
		n := 0
		for c := range w.all() {
			if n++; !left[c] {
				t.Fatal("one is there that was removed")
			}
		}
		if n != len(left) {
			t.Fatalf("%d are there, want %d", n, len(left))
		}
	}
}

// BenchmarkPark parks and unparks one beside 100,000, whose deadlines come in any order.
func BenchmarkPark(b *testing.B) {
	var w wheel
	all := make([]conn, 100_000)
	for i := range all {
		all[i].until = 1 + time.Duration(rand.Int64N(int64(5*time.Minute)))
		w.list(&all[i]).push(&all[i])
	}
	for i := 0; b.Loop(); i++ {
		c := &all[i%len(all)]
		w.list(c).remove(c)
		w.list(c).push(c)
	}
}

// BenchmarkExpire looks for those whose time is over among 100,000, as it is done ten times a second.
func BenchmarkExpire(b *testing.B) {
	var w wheel
	all := make([]conn, 100_000)
	for i := range all {
		all[i].until = 1 + time.Duration(i)*(3*time.Minute)/100_000
		w.list(&all[i]).push(&all[i])
	}
	now := time.Duration(0)
	for b.Loop() {
		if now += tick; now > 3*time.Minute {
			w.swept, now = 0, tick
		}
		for range w.over(now) { // they stay
		}
		w.next()
	}
}

// ending is a wire of a connection that is closed when a Read has found nothing, before its worker knows.
type ending struct{ wire }

func (e ending) Read(p []byte) (int, error) {
	n, err := e.wire.Read(p)
	_ = e.wire.Close()
	return n, err
}

// leaving is a wire of a connection that says its end, though more comes.
type leaving struct{ wire }

func (leaving) Read([]byte) (int, error) { return 0, io.EOF }

// TestSpoiltByTLS: a worker of which net/http has read the end of a connection of TLS takes no
// other one, also where more came on that than its end, and it is let go for others that wait.
func TestSpoiltByTLS(t *testing.T) {
	s := &server{hooks: &hooks{}, config: &tls.Config{}}
	l := loopOf(s)
	s.open, l.work.count = 2, 1
	c := newConn(l, new(aio.Conn))
	c.traffic, c.served = &traffic{in: []byte("junk")}, true
	c.tls = tls.Server(leaving{wire{c}}, s.config)
	other := newConn(l, new(aio.Conn))
	other.traffic = &traffic{in: []byte("GET "), err: io.EOF}
	other.tls = tls.Server(wire{other}, s.config)
	w := newWorker(l)
	w.conn, w.fresh, w.pool.woken, w.phase = c, false, false, inRequest
	c.worker = w
	if n, err := w.Read(make([]byte, 1)); n != 0 || err != io.EOF { // while the handler runs
		t.Fatalf("%d bytes, %v; want the end", n, err)
	}
	w.phase = between
	l.work.ready = []*conn{other}
	if n, err := w.Read(make([]byte, readSize)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes, %v; want the end", n, err)
	}
	if other.worker != nil || len(l.work.ready) != 2 {
		t.Error("another connection was taken")
	}
}

// TestEndingWhileReadNow: the deadline that crypto/tls sets for its last words, on behalf of a
// connection that is closed while its worker looks for the next request, does not stay with the
// worker.
func TestEndingWhileReadNow(t *testing.T) {
	s := &server{hooks: &hooks{}, config: &tls.Config{}}
	l := loopOf(s)
	s.open, l.work.count = 1, 1
	c := newConn(l, new(aio.Conn))
	c.served = true
	c.tls = tls.Server(wire{c}, s.config)
	w := newWorker(l)
	w.conn, w.fresh, w.pool.woken, w.pool.surplus = c, false, false, true
	c.worker = w
	_ = wire{c}.SetWriteDeadline(aborts) // as tls.Close does before it closes its wire
	if n, err := w.Read(make([]byte, readSize)); n != 0 || err != io.EOF {
		t.Fatalf("%d bytes, %v; want the worker's end", n, err)
	}
	_ = wire{c}.SetWriteDeadline(aborts)
	if c.worker != nil || !w.deadlines.out.IsZero() {
		t.Errorf("Writes fail from %v on", w.deadlines.out)
	}
}

// TestClosedWhileReadNow: ConnState hears of the end of a connection of TLS that is closed while
// its worker looks for the next request.
func TestClosedWhileReadNow(t *testing.T) {
	told := make(chan http.ConnState, 2)
	s := &server{
		hooks: &hooks{connState: func(_ net.Conn, to http.ConnState) { told <- to }}, config: &tls.Config{},
	}
	l := loopOf(s)
	s.open, l.work.count = 1, 1
	c := newConn(l, new(aio.Conn))
	c.served = true
	c.tls = tls.Server(ending{wire{c}}, s.config)
	w := newWorker(l)
	w.conn, w.fresh, w.pool.woken, w.pool.surplus = c, false, false, true // it ends when it has let c go
	c.worker = w
	if n, err := w.Read(make([]byte, readSize)); n != 0 || err != io.EOF {
		t.Fatalf("%d bytes, %v; want the worker's end", n, err)
	}
	if !c.dropped || s.open != 0 {
		t.Fatal("the connection is not forgotten")
	}
	select {
	case to := <-told:
		if to != http.StateClosed || len(told) > 0 {
			t.Errorf("told %v and %d more, want %v once", to, len(told), http.StateClosed)
		}
	case <-time.After(30 * time.Second):
		t.Error("nobody tells of its end")
	}
}
