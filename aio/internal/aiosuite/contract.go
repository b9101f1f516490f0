package aiosuite

import (
	"errors"
	"io"
	"net"
	"time"

	"evenkeel.dev/aio"
)

// attached: the connection's own methods fail, and the handle takes its place.
func attached(r *rig) {
	own, peer := r.raw()
	local, remote := own.LocalAddr().String(), own.RemoteAddr().String()
	conn, err := r.w.Attach(own)
	Must(r.t, err)
	_, readErr := own.Read(make([]byte, 1))
	_, writeErr := own.Write([]byte("x"))
	for _, err := range []error{readErr, writeErr, own.Close()} {
		if !errors.Is(err, net.ErrClosed) {
			r.t.Errorf("Read, Write and Close of an attached connection: %v, want net.ErrClosed", err)
		}
	}
	if conn.LocalAddr().String() != local || conn.RemoteAddr().String() != remote {
		r.t.Errorf("addresses %v and %v of the handle, %v and %v before", conn.LocalAddr(), conn.RemoteAddr(), local,
			remote)
	}
	if again, err := r.w.Attach(own); again != nil || err != aio.ErrClosed {
		r.t.Errorf("Attach for the second time: %v, %v; want ErrClosed", again, err)
	}
	r.works(conn, peer)
	Must(r.t, conn.Close())
	r.delivered(sink(peer), nil)
}

// structConn has no method SyscallConn.
type structConn struct{ net.Conn }

// attachRefused: the caller keeps what has no descriptor, is closed, or has datagrams.
func attachRefused(r *rig) {
	own, peer := r.raw()
	pipe, end := net.Pipe()
	defer func() { _, _ = pipe.Close(), end.Close() }()
	for _, c := range []net.Conn{nil, (*net.TCPConn)(nil), (*Conn)(nil), structConn{own}, pipe} {
		if got, err := r.w.Attach(c); got != nil || err != aio.ErrNoDescriptor {
			r.t.Errorf("Attach of %T(%v): %v, %v; want ErrNoDescriptor", c, c, got, err)
		}
	}
	go func() { _, _ = peer.Write([]byte("ok")) }()
	if _, err := io.ReadFull(own, make([]byte, 2)); err != nil {
		r.t.Error("Read of a refused connection:", err)
	}
	_ = own.Close()
	if c, err := r.w.Attach(own); c != nil || err != aio.ErrClosed {
		r.t.Errorf("Attach of a closed connection: %v, %v; want ErrClosed", c, err)
	}
	if !r.sys.Bubble { // nothing in memory has datagrams
		r.attachDatagrams()
	}
	if s := r.w.Stats(); s.Conns != 0 {
		r.t.Errorf("a refused connection is attached: %+v", s)
	}
}

func (r *rig) attachDatagrams() {
	r.t.Helper()
	a, err := net.ListenPacket("udp", "127.0.0.1:0")
	Must(r.t, err)
	defer func() { _ = a.Close() }()
	c, err := net.Dial("udp", a.LocalAddr().String())
	Must(r.t, err)
	defer func() { _ = c.Close() }()
	if conn, err := r.w.Attach(c); conn != nil || err != aio.ErrDatagram {
		r.t.Errorf("Attach of a UDP connection: %v, %v; want ErrDatagram", conn, err)
	}
	if _, err := c.Write([]byte("x")); err != nil {
		r.t.Error("Write of a refused connection:", err)
	}
}

// refusedAtOnce: the next WaitIO returns an operation that is wrong by itself. It never begins.
func refusedAtOnce(r *rig) {
	conn, _ := r.pair()
	for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
		r.refuse(aio.ErrEmptyBuffer,
			ticket{op: aio.OpWrite, conn: conn, deadline: deadline},
			ticket{op: aio.OpWrite, conn: conn, buf: []byte{}, deadline: deadline},
			ticket{conn: conn, full: true, deadline: deadline},
			ticket{conn: conn, full: true, buf: []byte{}, deadline: deadline},
			ticket{conn: conn, buf: []byte{}, deadline: deadline})
	}
	for _, op := range []aio.Op{aio.OpRead, aio.OpWrite} {
		if _, err := r.submit(ticket{op: op, conn: new(aio.Conn), buf: []byte{1}}); err != aio.ErrClosed {
			r.t.Errorf("operation on a zero Conn: %v, want ErrClosed", err)
		}
	}
	if err := new(aio.Conn).Close(); err != nil {
		r.t.Errorf("Close of a zero Conn: %v", err)
	}
	if s := r.w.Stats(); s.Pending != 0 {
		r.t.Errorf("a refused operation is pending: %+v", s)
	}
}
