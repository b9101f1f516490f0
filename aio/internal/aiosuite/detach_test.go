package aiosuite

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// detached is Conn.Detach. It tries again if a fault has refused it.
func (r *rig) detached(conn *aio.Conn) (net.Conn, error) {
	for {
		c, err := conn.Detach()
		if err == syscall.EMFILE && r.sys.Faulty {
			continue
		}
		if err == nil {
			r.mu.Lock()
			r.peers = append(r.peers, c)
			r.mu.Unlock()
			_ = c.SetDeadline(time.Now().Add(stuck))
		}
		return c, err
	}
}

// detach: the connection continues as a net.Conn, and can be attached again.
func detach(r *rig) {
	conn, peer := r.pair()
	r.sendThere(conn, peer, []byte("not read"))
	r.until(r.write(conn, []byte("written")))
	before := r.w.Stats().Conns
	c, err := r.detached(conn)
	Must(r.t, err)
	if n := r.w.Stats().Conns; n != before-1 {
		r.t.Errorf("%d connections, want %d", n, before-1)
	}
	if a, b := c.RemoteAddr().String(), peer.LocalAddr().String(); a != b {
		r.t.Errorf("the remote address is %q; the peer's local one is %q", a, b)
	}
	r.gone(conn)
	r.talk(c, peer, "written", "not read")

	again, err := r.w.Attach(c)
	Must(r.t, err)
	r.works(again, peer)
	c, err = r.detached(again)
	Must(r.t, err)
	_ = c.Close()
	r.delivered(sink(peer), nil)
}

// gone checks that a detached Conn refuses all.
func (r *rig) gone(conn *aio.Conn) {
	r.t.Helper()
	if _, err := conn.Detach(); err != aio.ErrClosed {
		r.t.Errorf("a second Detach: %v, want ErrClosed", err)
	}
	r.wantClosed(conn)
	r.wantFound(conn.Cancel(nil)+conn.SetDeadline(nil, time.Now()), 0)
	Must(r.t, conn.Close())
}

// talk checks that c and its peer read what the other end has sent before, and now.
func (r *rig) talk(c, peer net.Conn, toPeer, toUs string) {
	r.t.Helper()
	_ = peer.SetDeadline(time.Now().Add(stuck))
	for _, say := range []struct {
		from, to net.Conn
		before   string
	}{{c, peer, toPeer}, {peer, c, toUs}} {
		if _, err := io.WriteString(say.from, ", more"); err != nil {
			r.t.Error(err)
		}
		want := say.before + ", more"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(say.to, got); err != nil || string(got) != want {
			r.t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	_ = peer.SetDeadline(time.Time{})
}

// detachPending: Detach fails until all operations were returned. They have read nothing of what
// follows.
func detachPending(r *rig) {
	conn, peer := r.pair()
	refused := func(why string) {
		r.t.Helper()
		if c, err := r.detached(conn); c != nil || err != aio.ErrPending {
			r.t.Errorf("%s: %v, %v; want ErrPending", why, c, err)
		}
	}
	ks := []*ticket{r.readSwap(conn), r.readFull(conn, 9, time.Time{})}
	refused("not begun")
	r.idle(soon)
	refused("pending")
	for _, k := range ks {
		r.wantFound(r.cancelled(k), 1)
	}
	refused("not returned")
	r.allEnd(aio.ErrCancelled, ks...)
	r.send(peer, []byte("upgraded"))
	c, err := r.detached(conn)
	Must(r.t, err)
	r.idle(soon)
	r.talk(c, peer, "", "upgraded")
}

// detachClosed: Detach fails for a connection that is closed, or about to be.
func detachClosed(r *rig) {
	refused := func(conn *aio.Conn, want error) {
		r.t.Helper()
		if c, err := r.detached(conn); c != nil || err != want {
			r.t.Errorf("%v, %v; want %v", c, err, want)
		}
	}
	refused(&aio.Conn{}, aio.ErrClosed)
	conn, _ := r.pair()
	_ = conn.Close()
	refused(conn, aio.ErrClosed)
	conn, _ = r.pair()
	k := r.closeAfterWrites(conn, time.Time{})
	refused(conn, aio.ErrClosed)
	r.until(k)
	refused(conn, aio.ErrClosed)
	conn, _ = r.pair()
	_ = r.w.Close()
	refused(conn, aio.ErrWatcherClosed)
}

// detachRace: operations that are submitted during a Detach are returned, or refused.
func detachRace(r *rig) {
	r.rough = true
	for range 20 {
		conn, peer := r.pair()
		got := sink(peer)
		var wg sync.WaitGroup
		writes := []*ticket{r.write(conn, []byte("x"))}
		wg.Go(func() {
			for range 100 {
				k, err := r.submit(ticket{op: aio.OpWrite, conn: conn, buf: []byte("x")})
				if err != nil {
					r.t.Error(err)
					return
				}
				writes = append(writes, k)
			}
		})
		var c net.Conn
		err := aio.ErrPending
		for err == aio.ErrPending {
			if c, err = r.detached(conn); err == aio.ErrPending {
				_, _ = r.wait()
			}
		}
		if err != nil {
			r.t.Fatal(err)
		}
		wg.Wait()
		r.until(writes...)
		sent := 0
		for _, k := range writes {
			if k.result.Error != aio.ErrClosed { // after the Detach
				r.want(k, 1, nil)
				sent++
			}
		}
		_ = c.Close()
		r.delivered(got, bytes.Repeat([]byte("x"), sent))
	}
}

// syscallConn: Control has the descriptor while the connection is open. Read and Write are refused.
func syscallConn(r *rig) {
	conn, peer := r.pair()
	k := r.readSwap(conn)
	raw, err := conn.SyscallConn()
	Must(r.t, err)
	control := func(want error) {
		r.t.Helper()
		called := 0
		err := raw.Control(func(uintptr) { called++ })
		switch {
		case r.sys.Bubble && want == nil:
			if called != 0 || !errors.Is(err, errors.ErrUnsupported) {
				r.t.Errorf("without a descriptor: %d calls, %v; want ErrUnsupported", called, err)
			}
		case err != want || called > 0 != (want == nil):
			r.t.Errorf("%d calls, %v; want %v", called, err, want)
		}
		file := func(c *aio.Conn) error {
			f, err := c.File()
			if err != nil {
				return err
			}
			return f.Close() // the connection goes on
		}
		unsupported := want == nil && r.sys.Bubble
		if err := file(conn); err != want && !(unsupported && errors.Is(err, errors.ErrUnsupported)) {
			r.t.Errorf("File: %v; want %v", err, want)
		}
		if err := file(new(aio.Conn)); err != aio.ErrClosed {
			r.t.Errorf("File of no Watcher: %v, want ErrClosed", err)
		}
	}
	control(nil)
	for _, transfer := range []func(func(uintptr) bool) error{raw.Read, raw.Write} {
		if err := transfer(func(uintptr) bool { r.t.Error("called"); return true }); !errors.Is(err,
			errors.ErrUnsupported) {
			r.t.Errorf("%v, want ErrUnsupported", err)
		}
	}
	r.send(peer, []byte("x"))
	r.brings(k, []byte("x"))
	_ = conn.Close()
	control(aio.ErrClosed)
	conn, _ = r.pair()
	raw, err = conn.SyscallConn()
	Must(r.t, err)
	_ = r.w.Close()
	control(aio.ErrWatcherClosed)
	if _, err := new(aio.Conn).SyscallConn(); err != aio.ErrClosed {
		r.t.Errorf("of no Watcher: %v, want ErrClosed", err)
	}
}

// peerEnds: a read brings the data first, then size 0 and io.EOF. All pending reads end.
func peerEnds(r *rig) {
	conn, peer := r.pair()
	data := pattern(1, 0, 500)
	r.send(peer, data)
	r.brings(r.readFull(conn, len(data), time.Time{}), data)
	for round := range 2 {
		ks := []*ticket{r.read(conn, 9), r.readSwap(conn), r.readFull(conn, 9, time.Time{}), r.read(conn, 9)}
		if round == 0 {
			r.idle(soon)
			r.wantPending(ks...)
			_ = peer.Close()
		}
		r.allEnd(io.EOF, ks...)
	}
}

// halfClosed: a peer that has ended its side still gets what is written to it.
func halfClosed(r *rig) {
	conn, peer := r.pair()
	k := r.read(conn, 1)
	r.idle(soon)
	_ = closeWrite(peer)
	r.ends(k, 0, io.EOF)
	got := sink(peer)
	data := pattern(2, 0, 100<<10)
	for at := 0; at < len(data); at += 10 << 10 {
		r.allSent(r.write(conn, data[at:at+10<<10]))
	}
	_ = conn.Close()
	r.delivered(got, data)
}

// peerResets: the first operation finds ECONNRESET, writes find EPIPE after it, and reads the end.
func peerResets(r *rig) {
	conn, peer := r.pair()
	r.until(r.write(conn, []byte("x")))
	r.reset(peer)
	r.ends(r.read(conn, 1), 0, syscall.ECONNRESET)
	r.ends(r.write(conn, []byte("x")), 0, syscall.EPIPE)
	r.ends(r.read(conn, 1), 0, io.EOF)
	end := r.closeWrite(conn, time.Time{})
	r.until(end)
	if err := end.result.Error; err != nil && err != syscall.ENOTCONN {
		r.t.Errorf("CloseWrite after a reset: %v, want nil or ENOTCONN", err)
	}
}

// resetWhileWaiting: all pending operations end.
func resetWhileWaiting(r *rig) {
	conn, peer := r.pair()
	reads := []*ticket{r.readFull(conn, 9, time.Time{}), r.readSwap(conn), r.read(conn, 1)}
	write := r.write(conn, make([]byte, r.large))
	next := r.write(conn, make([]byte, 10))
	all := append(reads, write, next)
	r.idle(soon)
	r.wantPending(all...)
	r.reset(peer)
	r.until(all...)
	resets := 0
	for _, k := range all {
		switch err := k.result.Error; {
		case err == syscall.ECONNRESET:
			resets++
		case k.op == aio.OpRead && err == io.EOF, k.op == aio.OpWrite && err == syscall.EPIPE:
		default:
			r.t.Errorf("operation %d after the reset: %+v", k.number, k.result.Error)
		}
	}
	if resets == 0 {
		r.t.Error("a reset, and no operation got ECONNRESET")
	}
	if write.result.Size == 0 || write.result.Size == len(write.buf) || next.result.Size != 0 {
		r.t.Errorf("sent before the reset: %d of %d bytes, and %d of the next write's", write.result.Size,
			len(write.buf), next.result.Size)
	}
}

// resetAfterData: reads bring data that arrived before the reset, or a part of it.
func resetAfterData(r *rig) {
	conn, peer := r.pair()
	data := pattern(3, 0, 300)
	r.send(peer, data)
	r.until(r.write(conn, []byte("x")))
	r.reset(peer)
	got, err := r.readAll(conn)
	if err != syscall.ECONNRESET || !bytes.HasPrefix(data, got) {
		r.t.Errorf("%d bytes (the right ones: %v), then %v; want ECONNRESET", len(got), bytes.HasPrefix(data, got), err)
	}
}
