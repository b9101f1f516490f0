package aiotest

import (
	"io"
	"net"
	"time"

	"evenkeel.dev/aio"
)

var attachTests = []test{
	{"Attach", attach, false},
	{"AttachRefused", attachRefused, false},
	{"HandleOfAnother", handleOfAnother, false},
	{"HandleFreed", handleFreed, false},
}

// attach: a handle stands for its connection in all calls.
func attach(r *rig) {
	conn, peer := r.pair()
	remote := conn.RemoteAddr().String()
	c, err := r.w.Attach(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	if c.RemoteAddr().String() != remote || c.LocalAddr() == nil {
		r.t.Errorf("addresses of the handle: %v, %v", c.LocalAddr(), c.RemoteAddr())
	}
	if _, err := c.Read(nil); err != aio.ErrUnsupported {
		r.t.Error("Read:", err)
	}
	if _, err := c.Write(nil); err != aio.ErrUnsupported {
		r.t.Error("Write:", err)
	}
	for _, set := range []func(time.Time) error{c.SetDeadline, c.SetReadDeadline, c.SetWriteDeadline} {
		if err := set(time.Now()); err != aio.ErrUnsupported {
			r.t.Error("a deadline:", err)
		}
	}
	if s := r.w.Stats(); s.Conns != 1 {
		r.t.Errorf("%+v, want one connection", s)
	}
	r.send(peer, []byte("abc"))
	k := r.readFull(c, 3, time.Time{})
	r.until(k)
	r.wantData(k, []byte("abc"))
	w := r.write(c, []byte("def"))
	r.until(w)
	r.want(w, 3, nil)
	if err := c.Close(); err != nil {
		r.t.Error(err)
	}
	if data, err := io.ReadAll(peer); string(data) != "def" || err != nil {
		r.t.Errorf("the peer: %q, %v", data, err)
	}
}

// attachRefused: what is no connection, or delegated already.
func attachRefused(r *rig) {
	conn, _ := r.pair()
	for _, none := range []net.Conn{nil, (*net.TCPConn)(nil), structConn{conn}, new(aio.Conn), (*aio.Conn)(nil)} {
		if c, err := r.w.Attach(none); c != nil || err != aio.ErrUnsupported {
			r.t.Errorf("Attach of %T: %v, %v; want ErrUnsupported", none, c, err)
		}
	}
	c, err := r.w.Attach(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	if again, err := r.w.Attach(conn); again != nil || err != aio.ErrConnClosed {
		r.t.Errorf("Attach for the second time: %v, %v; want ErrConnClosed", again, err)
	}
	if again, err := r.w.Attach(c); again != nil || err != aio.ErrUnsupported {
		r.t.Errorf("Attach of a handle: %v, %v; want ErrUnsupported", again, err)
	}
	k := r.read(conn, 1) // by itself it is closed
	r.until(k)
	r.want(k, 0, aio.ErrConnClosed)

	byOperation, _ := r.pair()
	r.read(byOperation, 1)
	if again, err := r.w.Attach(byOperation); again != nil || err != aio.ErrConnClosed {
		r.t.Errorf("Attach of a delegated connection: %v, %v; want ErrConnClosed", again, err)
	}
	if err := new(aio.Conn).Close(); err != aio.ErrUnsupported {
		r.t.Errorf("Close of a zero Conn: %v, want ErrUnsupported", err)
	}
}

// handleOfAnother: a handle works with the Watcher that made it.
func handleOfAnother(r *rig) {
	other := r.sys.New(r.t, aio.Options{})
	defer func() { _ = other.Close() }()
	conn, peer := r.pair()
	c, err := other.Attach(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, op := range []aio.OpType{aio.OpRead, aio.OpWrite} {
		if _, err := r.submit(ticket{op: op, conn: c, buf: []byte{1}}); err != aio.ErrUnsupported {
			r.t.Errorf("an operation on another Watcher's handle: %v, want ErrUnsupported", err)
		}
	}
	if err := r.w.Free(c); err != aio.ErrUnsupported {
		r.t.Errorf("Free of another Watcher's handle: %v, want ErrUnsupported", err)
	}
	// It is untouched.
	if err := other.Write(nil, c, []byte("x")); err != nil {
		r.t.Fatal(err)
	}
	if results, err := other.WaitIO(); len(results) != 1 || err != nil {
		r.t.Fatal(results, err)
	}
	buf := make([]byte, 1)
	if _, err := io.ReadFull(peer, buf); err != nil {
		r.t.Error(err)
	}
}

// handleFreed: operations on a freed handle come back with ErrConnClosed.
func handleFreed(r *rig) {
	conn, peer := r.pair()
	c, err := r.w.Attach(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	before := r.readFull(c, 3, time.Time{})
	r.send(peer, []byte("x"))
	r.idle(soon)
	for range 2 {
		if err := r.w.Free(c); err != nil {
			r.t.Error(err)
		}
	}
	after := []*ticket{r.read(c, 1), r.readSwap(c), r.write(c, []byte("y"))}
	r.until(before)
	r.until(after...)
	r.want(before, 1, io.ErrClosedPipe)
	for _, k := range after {
		r.want(k, 0, aio.ErrConnClosed)
	}
	if s := r.w.Stats(); s.Conns != 1 { // the clock
		r.t.Errorf("%+v", s)
	}
}
