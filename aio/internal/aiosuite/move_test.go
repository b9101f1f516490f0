package aiosuite

import (
	"errors"
	"fmt"

	"evenkeel.dev/aio"
)

// move: a connection goes to another Watcher and back, with bytes that arrive before, during
// and after the move.
func move(r *rig) {
	conn, peer := r.pair()
	other := newRig(r.t, r.sys, aio.Options{})
	for i := range 20 {
		word := []byte(fmt.Sprint("word", i))
		if i%2 == 0 {
			r.sendThere(conn, peer, word)
		}
		before := r.w.Stats().Conns
		moved, err := conn.Move(other.w)
		Must(r.t, err)
		if now, there := r.w.Stats().Conns, other.w.Stats().Conns; now != before-1 || there == 0 {
			r.t.Fatalf("%d connections, and %d at the other; want %d", now, there, before-1)
		}
		r.gone(conn)
		if i%2 == 1 {
			r.send(peer, word)
		}
		if moved.LocalAddr().String() != conn.LocalAddr().String() ||
			moved.RemoteAddr().String() != conn.RemoteAddr().String() {
			r.t.Errorf("the addresses are %v, %v; want %v, %v", moved.LocalAddr(), moved.RemoteAddr(),
				conn.LocalAddr(), conn.RemoteAddr())
		}
		k := other.readSwap(moved)
		other.until(k)
		r.same("after a move", k.data, word)
		if i%4 < 2 { // the other Watcher waits for the next bytes
			k = other.readSwap(moved)
			other.idle(soon)
			r.send(peer, word)
			other.until(k)
			r.same("after a wait", k.data, word)
		}
		r, other, conn = other, r, moved
	}
	r.works(conn, peer)
}

// moveRefused: nothing changes if a connection cannot move.
func moveRefused(r *rig) {
	conn, peer := r.pair()
	other := newRig(r.t, r.sys, aio.Options{MaxConns: 1})
	refused := func(why string, to *aio.Watcher, want error) {
		r.t.Helper()
		if moved, err := conn.Move(to); moved != nil || !errors.Is(err, want) {
			r.t.Errorf("%s: %v, %v; want %v", why, moved, err, want)
		}
	}
	k := r.readSwap(conn)
	refused("not begun", other.w, aio.ErrPending)
	r.idle(soon)
	refused("pending", other.w, aio.ErrPending)
	r.send(peer, []byte("over"))
	r.until(k)
	there, _ := other.pair()
	refused("a full Watcher", other.w, aio.ErrTooManyConns)
	Must(r.t, there.Close())
	Must(r.t, other.w.Close())
	refused("a closed Watcher", other.w, aio.ErrWatcherClosed)
	if same, err := conn.Move(r.w); same != conn || err != nil {
		r.t.Errorf("to its own Watcher: %v, %v", same, err)
	}
	r.works(conn, peer)
	Must(r.t, conn.Close())
	refused("a closed connection", newRig(r.t, r.sys, aio.Options{}).w, aio.ErrClosed)
	if _, err := new(aio.Conn).Move(r.w); err != aio.ErrClosed {
		r.t.Errorf("the zero Conn: %v, want ErrClosed", err)
	}
}

// spread: new connections go to the Watcher with the fewest.
func spread(r *rig) {
	other := newRig(r.t, r.sys, aio.Options{})
	for range 5 {
		conn, peer := r.pair()
		moved, err := conn.Spread(r.w, other.w)
		Must(r.t, err)
		to := r
		if moved != conn {
			to = other
		}
		to.works(moved, peer)
	}
	if a, b := r.w.Stats().Conns, other.w.Stats().Conns; a-b > 1 || b-a > 1 {
		r.t.Errorf("%d and %d connections, want as many", a, b)
	}
	Must(r.t, other.w.Close())
	conn, _ := r.pair()
	if same, err := conn.Spread(other.w, r.w); same != conn || err != nil {
		r.t.Errorf("beside a closed Watcher: %v, %v", same, err)
	}
	if _, err := new(aio.Conn).Spread(r.w); err != aio.ErrClosed {
		r.t.Errorf("the zero Conn: %v, want ErrClosed", err)
	}
}
