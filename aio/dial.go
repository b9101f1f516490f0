package aio

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Dial submits the making of a connection to addr, a *net.TCPAddr or a *net.UnixAddr (of a netip.AddrPort:
// net.TCPAddrFromAddrPort). WaitIO returns it with [OpDial]; Result.Conn is the connection, or nil with an error
// such as ECONNREFUSED. Without a deadline the kernel gives up, after some two minutes. Connections have
// TCP_NODELAY set, as those of package net have.
//
// No name is resolved: that would hold the loop up. An address of another type is good if its
// String has an IP and a port, else the Error is [ErrUnresolved], as of a port beyond 65535. Other
// Errors are ErrTooManyConns, and a syscall.Errno such as EMFILE, or what connect(2) says at once,
// as it does of most unix sockets. Dial itself fails with ErrWatcherClosed, as [Conn.Read] does.
func (w *Watcher) Dial(tag any, addr net.Addr, deadline time.Time) error {
	c := &Conn{at: &place{watcher: w}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.connect(c, addr); err != nil {
		return w.submit(proactor.Op{Desc: &w.posts, Kind: proactor.Connect, Tag: tag, Err: err}, deadline)
	}
	err := w.submit(proactor.Op{Desc: &c.desc, Kind: proactor.Connect, Tag: tag}, deadline)
	if err != nil { // closed meanwhile
		w.release(&c.desc, proactor.ConnClosed)
	}
	return err
}

// connect has the backend begin to connect c to addr. The caller holds mu.
func (w *Watcher) connect(c *Conn, addr net.Addr) error {
	to, err := resolved(addr)
	switch {
	case err != nil:
		return err
	case w.refusing():
		return ErrWatcherClosed // and so says submit
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

// resolved returns addr in a type that a backend may know.
func resolved(addr net.Addr) (net.Addr, error) {
	good := addr != nil
	switch a := addr.(type) {
	case nil:
	case *net.TCPAddr: // of which AddrPort makes another one where Port or IP cannot be
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

// connected notes the local address of a connection that was made.
func (w *Watcher) connected(d *proactor.Desc) {
	w.stats.Dialled++
	d.Owner.(*Conn).at = &place{w, w.backend.Local(d).Net()}
}
