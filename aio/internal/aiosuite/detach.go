package aiosuite

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

var detachTests = []test{
	{"Detach", detach, false},
	{"DetachPending", detachPending, false},
	{"DetachClosed", detachClosed, false},
	{"DetachWhileWaiting", detachWhileWaiting, false},
	{"DetachRace", detachRace, false},
	{"SyscallConn", syscallConn, false},
}

// detached is Conn.Detach, which an injected fault may refuse.
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

// detach: the connection goes on as a net.Conn, and may come back.
func detach(r *rig) {
	conn, peer := r.pair()
	r.sendThere(conn, peer, []byte("not read"))
	k := r.write(conn, []byte("written"))
	r.until(k)
	before := r.w.Stats().Conns
	c, err := r.detached(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	if n := r.w.Stats().Conns; n != before-1 {
		r.t.Errorf("%d connections, want %d", n, before-1)
	}
	if a, b := c.RemoteAddr().String(), peer.LocalAddr().String(); a != b {
		r.t.Errorf("the remote address is %q; the peer's local one is %q", a, b)
	}
	r.gone(conn)
	r.talk(c, peer, "written", "not read")

	again, err := r.w.Attach(c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.sendThere(again, peer, []byte("back"))
	k = r.readFull(again, 4, time.Time{})
	r.until(k)
	r.wantData(k, []byte("back"))
	if c, err = r.detached(again); err != nil {
		r.t.Fatal(err)
	}
	_ = c.Close()
	got := sink(peer)
	if data, err := got(); len(data) > 0 || err != nil {
		r.t.Errorf("the peer: %q, %v; want the end", data, err)
	}
}

// gone checks what a Conn says that was detached.
func (r *rig) gone(conn *aio.Conn) {
	r.t.Helper()
	if _, err := conn.Detach(); err != aio.ErrClosed {
		r.t.Errorf("a second Detach: %v, want ErrClosed", err)
	}
	r.refuse(aio.ErrClosed,
		ticket{conn: conn}, ticket{conn: conn, op: aio.OpWrite, buf: []byte{1}}, ticket{conn: conn, op: aio.OpClose})
	if n := conn.Cancel(nil) + conn.SetDeadline(nil, time.Now()); n != 0 {
		r.t.Errorf("%d operations were found", n)
	}
	if err := conn.Close(); err != nil {
		r.t.Error("Close:", err)
	}
}

// talk has c and its peer read what the other has sent before, and an answer each.
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

// detachPending: it is refused until all was returned, and then nothing was read too far.
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
		if n := r.cancelled(k); n != 1 {
			r.t.Errorf("Cancel found %d", n)
		}
	}
	refused("not returned")
	r.until(ks...)
	for _, k := range ks {
		r.want(k, 0, aio.ErrCancelled)
	}
	r.send(peer, []byte("upgraded"))
	c, err := r.detached(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	r.idle(soon)
	r.talk(c, peer, "", "upgraded")
}

// detachClosed: what is closed, or about to be, is not given back.
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

// detachWhileWaiting: it makes room for a connection that waits to be accepted.
func detachWhileWaiting(r *rig) {
	r.open(aio.Options{MaxConns: 1, Logger: slog.New(slog.DiscardHandler)})
	conn, peer := r.pair()
	l, dial := r.listener()
	dial()
	k := r.accept(l)
	done := make(chan net.Conn)
	go func() {
		for r.w.Stats().AcceptStalls == 0 {
			time.Sleep(time.Millisecond)
		}
		c, err := r.detached(conn)
		if err != nil {
			r.t.Error(err)
		}
		done <- c
	}()
	r.accepted(k)
	if c := <-done; c != nil {
		r.talk(c, peer, "", "")
	}
}

// detachRace: what is submitted meanwhile is returned, or refused.
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
		if data, err := got(); len(data) != sent || err != nil {
			r.t.Errorf("%d bytes at the peer, %v; want %d", len(data), err, sent)
		}
	}
}

// syscallConn: Control has the descriptor while the connection is open, the transfers are the Watcher's.
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
		for name, set := range map[string]func(*aio.Conn) error{
			"SetNoDelay":         func(c *aio.Conn) error { return c.SetNoDelay(false) },
			"SetKeepAliveConfig": func(c *aio.Conn) error { return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true}) },
			"SetLinger":          func(c *aio.Conn) error { return c.SetLinger(-1) },
			"File": func(c *aio.Conn) error {
				f, err := c.File()
				if err != nil {
					return err
				}
				return f.Close() // the connection goes on
			},
		} {
			unsupported := want == nil // in a bubble, and of unix sockets
			if err := set(conn); err != want && !(unsupported && errors.Is(err, errors.ErrUnsupported)) {
				r.t.Errorf("%s: %v; want %v", name, err, want)
			}
			if err := set(new(aio.Conn)); err != aio.ErrClosed {
				r.t.Errorf("%s of no Watcher: %v, want ErrClosed", name, err)
			}
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
	r.until(k)
	r.wantData(k, []byte("x"))
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
