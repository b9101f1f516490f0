package aio

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Dial submits a connect to addr, a *net.TCPAddr or a *net.UnixAddr. The Result has [OpDial], and
// the connection in Conn, or nil with an error such as ECONNREFUSED. Without a deadline the kernel
// gives up after some two minutes. Connections have TCP_NODELAY set.
//
// Dial resolves no names, because that would block the loop. The String of another type of address
// must be an IP and a port, or the Error is [ErrUnresolved]. Other Errors are ErrTooManyConns and
// those of socket(2) and connect(2). Dial itself fails with ErrWatcherClosed.
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
	to, err := resolved(addr)
	switch {
	case err != nil:
		return err
	case w.refusing():
		return ErrWatcherClosed
	case w.connsFull():
		return ErrTooManyConns
	}
	c.setRemote(proactor.Addr{Other: to})
	if err := w.backend.Connect(to, &c.desc); err != nil {
		return openError(err)
	}
	w.enter(&c.desc, c)
	return nil
}

// resolved returns addr as a type that backends know.
func resolved(addr net.Addr) (net.Addr, error) {
	good := addr != nil
	switch a := addr.(type) {
	case nil:
	case *net.TCPAddr: // AddrPort would truncate an invalid Port or IP
		good = a != nil && a.Port == int(uint16(a.Port)) && (len(a.IP) == 0 || a.IP.To16() != nil)
	case *net.UnixAddr:
		good = a != nil
	default:
		if strings.HasPrefix(a.Network(), "tcp") {
			ip, err := netip.ParseAddrPort(a.String())
			addr, good = net.TCPAddrFromAddrPort(ip), err == nil
		}
	}
	if !good {
		return nil, ErrUnresolved
	}
	return addr, nil
}

func (w *Watcher) connected(d *proactor.Desc) {
	w.stats.Dialled++
	d.Owner.(*Conn).at = &place{w, w.backend.Local(d).Net()}
}
