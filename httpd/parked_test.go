package httpd

import (
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

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
	s.conns.open, s.work.count = 2, 1
	c := &conn{server: s, handle: new(aio.Conn), traffic: &traffic{in: []byte("junk")}, served: true}
	c.tls = tls.Server(leaving{wire{c}}, s.config)
	other := &conn{server: s, handle: new(aio.Conn), traffic: &traffic{in: []byte("GET "), err: io.EOF}}
	other.tls = tls.Server(wire{other}, s.config)
	w := newWorker(s)
	w.conn, w.fresh, w.pool.woken, w.phase = c, false, false, inRequest
	c.worker = w
	if n, err := w.Read(make([]byte, 1)); n != 0 || err != io.EOF { // while the handler runs
		t.Fatalf("%d bytes, %v; want the end", n, err)
	}
	w.phase = between
	s.work.ready = []*conn{other}
	if n, err := w.Read(make([]byte, readSize)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes, %v; want the end", n, err)
	}
	if other.worker != nil || len(s.work.ready) != 2 {
		t.Error("another connection was taken")
	}
}

// TestEndingWhileReadNow: the deadline that crypto/tls sets for its last words, on behalf of a
// connection that is closed while its worker looks for the next request, does not stay with the
// worker.
func TestEndingWhileReadNow(t *testing.T) {
	s := &server{hooks: &hooks{}, config: &tls.Config{}}
	s.conns.open, s.work.count = 1, 1
	c := &conn{server: s, handle: new(aio.Conn), traffic: &noTraffic, served: true}
	c.tls = tls.Server(wire{c}, s.config)
	w := newWorker(s)
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
	s.conns.open, s.work.count = 1, 1
	c := &conn{server: s, handle: new(aio.Conn), traffic: &noTraffic, served: true}
	c.tls = tls.Server(ending{wire{c}}, s.config)
	w := newWorker(s)
	w.conn, w.fresh, w.pool.woken, w.pool.surplus = c, false, false, true // it ends when it has let c go
	c.worker = w
	if n, err := w.Read(make([]byte, readSize)); n != 0 || err != io.EOF {
		t.Fatalf("%d bytes, %v; want the worker's end", n, err)
	}
	if !c.dropped || s.conns.open != 0 {
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
