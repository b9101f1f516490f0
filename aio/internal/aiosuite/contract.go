package aiosuite

import (
	"errors"
	"io"
	"net"
	"time"

	"evenkeel.dev/aio"
)

var contractTests = []test{
	{"Attach", attached, false},
	{"AttachRefused", attachRefused, false},
	{"RefusedAtOnce", refusedAtOnce, false},
	{"ClosedConn", closedConn, false},
	{"Echo", echo, false},
	{"Stats", stats, false},
}

// attached: the connection's own methods fail from then on, and the handle stands for it.
func attached(r *rig) {
	own, peer := r.raw()
	local, remote := own.LocalAddr().String(), own.RemoteAddr().String()
	conn, err := r.w.Attach(own)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := own.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		r.t.Errorf("Read of an attached connection: %v, want net.ErrClosed", err)
	}
	if _, err := own.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		r.t.Errorf("Write to an attached connection: %v, want net.ErrClosed", err)
	}
	if err := own.Close(); !errors.Is(err, net.ErrClosed) {
		r.t.Errorf("Close of an attached connection: %v, want net.ErrClosed", err)
	}
	if conn.LocalAddr().String() != local || conn.RemoteAddr().String() != remote {
		r.t.Errorf("addresses %v and %v of the handle, %v and %v before", conn.LocalAddr(), conn.RemoteAddr(), local,
			remote)
	}
	if again, err := r.w.Attach(own); again != nil || err != aio.ErrClosed {
		r.t.Errorf("Attach for the second time: %v, %v; want ErrClosed", again, err)
	}
	r.send(peer, []byte("abc"))
	k := r.readFull(conn, 3, time.Time{})
	if s := r.w.Stats(); s.Conns != 1 || s.Pending != 1 {
		r.t.Errorf("with one connection and one read: %+v", s)
	}
	r.until(k)
	r.wantData(k, []byte("abc"))
	w := r.write(conn, []byte("def"))
	r.until(w)
	r.want(w, 3, nil)
	if err := conn.Close(); err != nil {
		r.t.Error(err)
	}
	if data, err := io.ReadAll(peer); string(data) != "def" || err != nil {
		r.t.Errorf("the peer: %q, %v", data, err)
	}
}

// structConn has no method SyscallConn.
type structConn struct{ net.Conn }

// attachRefused: what has no descriptor, and what was closed before. It stays the caller's.
func attachRefused(r *rig) {
	own, peer := r.raw()
	pipe, end := net.Pipe()
	defer func() { _, _ = pipe.Close(), end.Close() }()
	for _, none := range []net.Conn{nil, (*net.TCPConn)(nil), (*Conn)(nil), structConn{own}, pipe} {
		if c, err := r.w.Attach(none); c != nil || err != aio.ErrNoDescriptor {
			r.t.Errorf("Attach of %T(%v): %v, %v; want ErrNoDescriptor", none, none, c, err)
		}
	}
	go func() { _, _ = peer.Write([]byte("ok")) }()
	if _, err := io.ReadFull(own, make([]byte, 2)); err != nil {
		r.t.Error("what was refused is no more:", err)
	}
	_ = own.Close()
	if c, err := r.w.Attach(own); c != nil || err != aio.ErrClosed {
		r.t.Errorf("Attach of a closed connection: %v, %v; want ErrClosed", c, err)
	}
	if s := r.w.Stats(); s.Conns != 0 {
		r.t.Errorf("what was refused is attached: %+v", s)
	}
}

// refusedAtOnce: what is wrong by itself is returned by the next WaitIO, as all operations are, and
// was never begun.
func refusedAtOnce(r *rig) {
	conn, _ := r.pair()
	r.refuse(aio.ErrEmptyBuffer, []ticket{
		{op: aio.OpWrite, conn: conn},
		{op: aio.OpWrite, conn: conn, buf: []byte{}, deadline: time.Now().Add(time.Hour)},
		{conn: conn, full: true},
		{conn: conn, full: true, buf: []byte{}, deadline: time.Now().Add(time.Hour)},
		{conn: conn, buf: []byte{}},
		{conn: conn, buf: []byte{}, deadline: time.Now().Add(time.Hour)},
	}...)
	for _, op := range []aio.Op{aio.OpRead, aio.OpWrite} {
		if _, err := r.submit(ticket{op: op, conn: new(aio.Conn), buf: []byte{1}}); err != aio.ErrClosed {
			r.t.Errorf("operation on a zero Conn: %v, want ErrClosed", err)
		}
	}
	if err := new(aio.Conn).Close(); err != nil {
		r.t.Errorf("Close of a zero Conn: %v", err)
	}
	if s := r.w.Stats(); s.Pending != 0 {
		r.t.Errorf("what was refused is pending: %+v", s)
	}
}

// closedConn: operations on a closed connection are refused at once; what was pending comes.
func closedConn(r *rig) {
	conn := r.pairWith([]byte("x"))
	before := r.readFull(conn, 3, time.Time{})
	r.idle(soon)
	for range 2 {
		if err := conn.Close(); err != nil {
			r.t.Error(err)
		}
	}
	r.refuse(aio.ErrClosed,
		ticket{conn: conn, buf: []byte{1}}, ticket{conn: conn}, ticket{op: aio.OpWrite, conn: conn, buf: []byte{1}})
	r.until(before)
	r.want(before, 1, aio.ErrClosed)
	if s := r.w.Stats(); s.Conns != 1 { // the clock
		r.t.Errorf("%+v", s)
	}
}

// echo: one after the other, in both directions.
func echo(r *rig) {
	conn, peer := r.pair()
	for i := range 20 {
		message := pattern(i, 0, 1+i*37)
		r.send(peer, message)
		k := r.readFull(conn, len(message), time.Time{})
		r.until(k)
		r.wantData(k, message)
		back := r.write(conn, message)
		got := make(chan []byte)
		go func() {
			buf := make([]byte, len(message))
			_, _ = io.ReadFull(peer, buf)
			got <- buf
		}()
		r.until(back)
		r.want(back, len(message), nil)
		r.same("at the peer", <-got, message)
	}
}

// stats: what is pending is counted from its submission to its end.
func stats(r *rig) {
	conn, peer := r.pair()
	r.read(conn, 5)
	r.read(conn, 5)
	check := func(pending int) {
		r.t.Helper()
		if s := r.w.Stats(); s.Pending != pending || s.Conns == 0 || s.Backend == "" {
			r.t.Errorf("%+v, want %d pending", s, pending)
		}
	}
	check(2)
	r.idle(soon)
	check(2)
	r.send(peer, []byte("x"))
	r.until(r.tickets[0])
	check(1)
	if err := conn.Close(); err != nil {
		r.t.Error(err)
	}
	r.until(r.tickets[1])
	r.want(r.tickets[1], 0, aio.ErrClosed)
	if s := r.w.Stats(); s.Pending != 0 {
		r.t.Errorf("%+v, want nothing pending", s)
	}
}
