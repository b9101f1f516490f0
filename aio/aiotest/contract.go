package aiotest

import (
	"errors"
	"io"
	"net"
	"time"

	"evenkeel.dev/aio"
)

var contractTests = []test{
	{"Delegation", delegation, false},
	{"RefusedAtOnce", refusedAtOnce, false},
	{"NoDescriptor", noDescriptor, false},
	{"ClosedBefore", closedBefore, false},
	{"Echo", echo, false},
	{"Stats", stats, false},
	{"Affinity", affinity, false},
}

// delegation: the first operation delegates the connection, whose own methods fail from then on.
func delegation(r *rig) {
	conn, peer := r.pair()
	local, remote := conn.LocalAddr().String(), conn.RemoteAddr().String()
	k := r.read(conn, 10)
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		r.t.Errorf("Read of a delegated connection: %v, want net.ErrClosed", err)
	}
	if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		r.t.Errorf("Write to a delegated connection: %v, want net.ErrClosed", err)
	}
	if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
		r.t.Errorf("Close of a delegated connection: %v, want net.ErrClosed", err)
	}
	if conn.LocalAddr().String() != local || conn.RemoteAddr().String() != remote {
		r.t.Errorf("addresses %v and %v after the delegation, %v and %v before it", conn.LocalAddr(), conn.RemoteAddr(), local, remote)
	}
	if s := r.w.Stats(); s.Conns != 1 || s.Pending != 1 {
		r.t.Errorf("with one connection and one read: %+v", s)
	}
	r.send(peer, []byte("x"))
	r.until(k)
	r.want(k, 1, nil)
}

// structConn is a connection without identity.
type structConn struct{ net.Conn }

// refusedAtOnce: what is wrong by itself is returned at once, and never through WaitIO.
func refusedAtOnce(r *rig) {
	conn, peer := r.pair()
	for _, none := range []net.Conn{nil, (*net.TCPConn)(nil), (*Conn)(nil), structConn{conn}, (*aio.Conn)(nil), new(aio.Conn)} {
		for _, op := range []aio.OpType{aio.OpRead, aio.OpWrite} {
			if _, err := r.submit(ticket{op: op, conn: none, buf: []byte{1}}); err != aio.ErrUnsupported {
				r.t.Errorf("operation on %T(%v): %v, want ErrUnsupported", none, none, err)
			}
		}
		if err := r.w.Free(none); none != (structConn{conn}) && err != aio.ErrUnsupported {
			r.t.Errorf("Free of %T(%v): %v, want ErrUnsupported", none, none, err)
		}
	}
	for _, k := range []ticket{
		{op: aio.OpWrite, conn: conn},
		{op: aio.OpWrite, conn: conn, buf: []byte{}, deadline: time.Now().Add(time.Hour)},
		{conn: conn, full: true},
		{conn: conn, full: true, buf: []byte{}, deadline: time.Now().Add(time.Hour)},
		{conn: conn, buf: []byte{}},
		{conn: conn, buf: []byte{}, deadline: time.Now().Add(time.Hour)},
	} {
		if _, err := r.submit(k); err != aio.ErrEmptyBuffer {
			r.t.Errorf("%+v: %v, want ErrEmptyBuffer", k, err)
		}
	}
	if s := r.w.Stats(); s.Conns != 0 {
		r.t.Errorf("what was refused has delegated a connection: %+v", s)
	}
	// It is untouched.
	go func() { _, _ = peer.Write([]byte("ok")) }()
	if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
		r.t.Error(err)
	}
}

// noDescriptor: a connection that cannot be delegated is told of through WaitIO.
func noDescriptor(r *rig) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	ks := []*ticket{r.read(a, 1), r.write(a, []byte("x")), r.readSwap(a)}
	r.until(ks...)
	for _, k := range ks {
		if k.result.Error != aio.ErrUnsupported || k.result.Size != 0 {
			r.t.Errorf("an operation on a net.Pipe: %+v, want ErrUnsupported", k.result)
		}
	}
	if _, err := r.w.Attach(a); err != aio.ErrUnsupported {
		r.t.Errorf("Attach of a net.Pipe: %v, want ErrUnsupported", err)
	}
}

// closedBefore: so is one that was closed by its owner.
func closedBefore(r *rig) {
	conn, _ := r.pair()
	_ = conn.Close()
	k := r.read(conn, 1)
	r.until(k)
	r.want(k, 0, aio.ErrConnClosed)
	if _, err := r.w.Attach(conn); err != aio.ErrConnClosed {
		r.t.Errorf("Attach of a closed connection: %v, want ErrConnClosed", err)
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
	if err := r.w.Free(conn); err != nil {
		r.t.Error(err)
	}
	r.until(r.tickets[1])
	r.want(r.tickets[1], 0, io.ErrClosedPipe)
	if s := r.w.Stats(); s.Pending != 0 {
		r.t.Errorf("%+v, want nothing pending", s)
	}
}

// affinity: there has to be such a CPU.
func affinity(r *rig) {
	for _, cpu := range []int{-1, 1 << 20} {
		for _, set := range []func(int) error{r.w.SetLoopAffinity, r.w.SetPollerAffinity} {
			if err := set(cpu); err != aio.ErrCPUID {
				r.t.Errorf("affinity to CPU %d: %v, want ErrCPUID", cpu, err)
			}
		}
	}
}
