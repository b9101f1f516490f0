package httpd

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

const (
	acceptTurn = 64
	closedLook = time.Second
)

type socket interface {
	net.Listener
	syscall.Conn
}

// kept is the user's socket. It stays open while aio has a duplicate.
type kept struct{ socket }

func (kept) Close() error { return nil }

// startAccepting has the first loop accept.
func (s *server) startAccepting() {
	probe(s.real)
	ln := s.real.(socket)
	l, err := s.first.watcher.AttachListener(kept{ln})
	if err != nil {
		s.fail(fmt.Errorf("httpd: cannot accept: %w", err)) // not Temporary, so that net/http does not try again
		return
	}
	s.mu.Lock()
	s.accepting.loop = l
	closed := s.closed.Load()
	s.acceptMore()
	s.mu.Unlock()
	if closed {
		_ = l.Close()
	}
	if raw, err := ln.SyscallConn(); err == nil {
		s.look(raw)
	}
	s.begin()
}

// begin drives the first loop, and balances it with others.
func (s *server) begin() {
	s.first.relief.began = time.Since(s.start)
	go s.first.drive()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bounds.Loops > 1 && !s.over {
		s.balancing.Go(s.balance)
	}
}

// probe turns on keep-alive probes and TCP_NODELAY, as package net does. aio's connections inherit
// both.
func probe(ln net.Listener) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return
	}
	if f, err := tcp.File(); err == nil {
		enable(f)
	}
}

// enable sets the options by f, a duplicate of a socket, and closes f. net.FileConn sets both
// (newTCPConn in net/tcpsock.go).
func enable(f *os.File) {
	defer f.Close()
	if nc, err := net.FileConn(f); err == nil {
		_ = nc.Close()
	}
}

// look ends the accepting if the user has closed the listener. The duplicate does not notice.
func (s *server) look(raw syscall.RawConn) {
	if err := raw.Control(func(uintptr) {}); err != nil {
		s.fail(s.acceptError(net.ErrClosed))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.Load() {
		time.AfterFunc(closedLook, func() { s.look(raw) })
	}
}

func (s *server) acceptError(err error) error {
	at := s.real.Addr()
	return &net.OpError{Op: "accept", Net: at.Network(), Addr: at, Err: err}
}

// fail ends the accepting. Serve returns err.
func (s *server) fail(err error) {
	s.mu.Lock()
	if !s.closed.Load() {
		s.accepting.failed = err
	}
	s.mu.Unlock()
	_ = s.Close()
}

// arrived takes a connection from the first loop. The loop does not wait for the user's ConnState.
func (s *server) arrived(r *aio.Result) {
	if r.Error == nil && !s.inherited {
		s.inherited = inherits(r.Conn)
	}
	switch {
	case errors.Is(r.Error, aio.ErrClosed), errors.Is(r.Error, aio.ErrWatcherClosed):
		return
	case r.Error != nil: // aio retries errors of one connection and a lack of descriptors
		s.fail(s.acceptError(r.Error))
		return
	}
	s.mu.Lock()
	s.accepting.pending--
	s.open++
	if s.acceptMore(); s.accepting.pending == 0 {
		s.counts.AcceptStalls++
	}
	s.mu.Unlock()
	c := s.first.place(r.Conn)
	if s.hooks.connState != nil {
		go s.serveConn(c)
	} else {
		s.serveConn(c)
	}
}

// acceptMore accepts up to MaxConns. The caller holds mu.
func (s *server) acceptMore() {
	a := &s.accepting
	for a.loop != nil && !s.closed.Load() && a.pending < acceptTurn && s.open+a.pending < s.bounds.MaxConns {
		if a.loop.Accept(nil, aio.NoDeadline) != nil {
			return
		}
		a.pending++
	}
}

// serveConn begins to serve a connection, which is counted already.
func (s *server) serveConn(c *conn) {
	l := c.loop() // it does not move before it is parked
	l.mu.Lock()
	defer l.unlock()
	l.counts.Accepted++
	if s.hooks.connState != nil {
		l.mu.Unlock()
		s.hooks.state(c, http.StateNew)
		l.mu.Lock()
	}
	switch {
	case c.ended:
		return
	case s.closed.Load():
		c.end()
		return
	}
	d := s.hooks.headerTimeout()
	if s.config != nil {
		d = s.hooks.handshakeTimeout()
	}
	c.until = s.endOf(d)
	l.park(c)
	c.read()
}
