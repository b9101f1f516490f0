package aio

import (
	"net"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Dial submits a connect to addr, a *net.TCPAddr or a *net.UnixAddr. The Result has [OpDial], and
// the connection in Conn, or nil with an error such as ECONNREFUSED. Without a deadline the kernel
// gives up after some two minutes. Connections have TCP_NODELAY set.
//
// Dial resolves no names, because that would block the loop. The Error of another type of address is
// [ErrUnresolved]. Other Errors are ErrTooManyConns and those of socket(2) and connect(2). Dial
// itself fails with ErrWatcherClosed.
func (w *Watcher) Dial(tag any, addr net.Addr, deadline time.Time) error {
	c := &Conn{at: &place{watcher: w}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.connect(c, addr); err != nil {
		return w.submit(proactor.Op{Desc: &w.posts, Kind: proactor.Connect, Tag: tag, Err: err}, deadline)
	}
	err := w.submit(proactor.Op{Desc: &c.desc, Kind: proactor.Connect, Tag: tag}, deadline)
	if err != nil { // closed by another goroutine
		w.release(&c.desc, proactor.ConnClosed)
	}
	return err
}

// connect begins to connect c. The caller holds mu.
func (w *Watcher) connect(c *Conn, addr net.Addr) error {
	switch {
	case !resolved(addr):
		return ErrUnresolved
	case w.refusing():
		return ErrWatcherClosed
	case w.connsFull():
		return ErrTooManyConns
	}
	c.setRemote(proactor.Addr{Other: addr})
	if err := w.backend.Connect(addr, &c.desc); err != nil {
		return openError(err)
	}
	w.enter(&c.desc, c)
	return nil
}

// resolved reports whether addr is complete. A backend refuses a type that it does not know.
func resolved(addr net.Addr) bool {
	switch a := addr.(type) {
	case nil:
		return false
	case *net.TCPAddr: // AddrPort would truncate an invalid Port or IP
		return a != nil && a.Port == int(uint16(a.Port)) && (len(a.IP) == 0 || a.IP.To16() != nil)
	case *net.UnixAddr:
		return a != nil
	}
	return true
}

func (w *Watcher) connected(d *proactor.Desc) {
	w.stats.Dialled++
	d.Owner.(*Conn).at = &place{w, w.backend.Local(d).Net()}
}
