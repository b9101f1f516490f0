package httpd

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

const (
	acceptPause = 20 * time.Millisecond
	acceptTurn  = 64
	closedLook  = time.Second
)

type socket interface {
	net.Listener
	syscall.Conn
}

// kept is the user's socket. It stays open while aio has a duplicate.
type kept struct{ socket }

func (kept) Close() error { return nil }

// startAccepting has the loop accept, or a goroutine for a listener without a descriptor or of
// another type.
func (s *server) startAccepting() {
	switch s.real.(type) {
	case *net.TCPListener, *net.UnixListener:
		probe(s.real)
		ln := s.real.(socket)
		if l, err := s.watcher.AttachListener(kept{ln}); err == nil {
			s.mu.Lock()
			s.accepting.loop = l
			closed := s.accepting.closed
			s.more()
			s.mu.Unlock()
			if closed {
				_ = l.Close()
			}
			if raw, err := ln.SyscallConn(); err == nil {
				s.look(raw)
			}
			go s.drive()
			return
		}
	}
	go s.accept()
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

// enable sets the options by f, a duplicate of a socket, and closes f.
func enable(f *os.File) {
	defer f.Close()
	nc, err := net.FileConn(f)
	if err != nil {
		return
	}
	defer nc.Close()
	if c, ok := nc.(*net.TCPConn); ok {
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true})
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
	if !s.accepting.closed {
		s.conns.looks = time.AfterFunc(closedLook, func() { s.look(raw) })
	}
}

func (s *server) acceptError(err error) error {
	at := s.real.Addr()
	return &net.OpError{Op: "accept", Net: at.Network(), Addr: at, Err: err}
}

// fail ends the accepting. Serve returns err.
func (s *server) fail(err error) {
	s.mu.Lock()
	if !s.accepting.closed {
		s.accepting.failed = err
	}
	s.mu.Unlock()
	_ = (*listener)(s).Close()
}

// arrived takes a connection from the loop. The loop does not wait for the user's ConnState.
func (s *server) arrived(r *aio.Result) {
	if r.Error == nil && !s.inherited {
		s.inherited = inherits(r.Conn)
	}
	switch c := (&conn{server: s, handle: r.Conn, traffic: &noTraffic}); {
	case errors.Is(r.Error, aio.ErrClosed), errors.Is(r.Error, aio.ErrWatcherClosed):
		return
	case r.Error != nil: // aio retries errors of one connection and a lack of descriptors
		s.fail(s.acceptError(r.Error))
		return
	default:
		s.mu.Lock()
		s.accepting.pending--
		s.conns.open++
		if s.more(); s.accepting.pending == 0 {
			s.counts.AcceptStalls++
		}
		s.mu.Unlock()
		if s.hooks.connState != nil {
			go s.serveConn(c)
		} else {
			s.serveConn(c)
		}
	}
}

func (s *server) more() {
	a := &s.accepting
	for a.loop != nil && !a.closed && a.pending < acceptTurn && s.conns.open+a.pending < s.most {
		if s.accepting.loop.Accept(nil, aio.NoDeadline) != nil {
			return
		}
		s.accepting.pending++
	}
}

func (s *server) accept() {
	driven, refused := false, false
	for {
		s.room()
		nc, err := s.real.Accept()
		if err != nil {
			var ne net.Error
			// as net/http does, for EMFILE and ECONNABORTED
			if errors.As(err, &ne) && ne.Temporary() { //nolint:staticcheck // as net/http does
				s.mu.Lock()
				s.counts.AcceptStalls++
				s.mu.Unlock()
				time.Sleep(acceptPause)
				continue
			}
			s.fail(err)
			return
		}
		c := &conn{server: s, traffic: &noTraffic}
		switch nc.(type) {
		case *net.TCPConn, *net.UnixConn:
			c.handle, err = s.watcher.Attach(nc)
		default:
			err = aio.ErrNoDescriptor
		}
		switch {
		case err == nil:
			if !driven { // not earlier: without descriptors all may be in a bubble of testing/synctest
				driven = true
				go s.drive()
			}
			s.mu.Lock()
			s.conns.open++
			s.mu.Unlock()
			s.serveConn(c)
		case errors.Is(err, aio.ErrNoDescriptor):
			if s.config != nil {
				nc = tls.Server(nc, s.config)
			}
			s.mu.Lock()
			if s.accepting.closed {
				s.callbacks.later = append(s.callbacks.later, func() { _ = nc.Close() })
			} else {
				s.conns.others = append(s.conns.others, nc)
				s.work.needed.Signal()
			}
			s.unlock()
		default:
			s.mu.Lock()
			s.counts.Unattached++
			s.mu.Unlock()
			if !refused {
				refused = true
				s.log.Warn("httpd: a connection was refused; the next ones are not logged", "remote", nc.RemoteAddr(),
					"reason", err)
			}
			_ = nc.Close()
		}
	}
}

func (s *server) room() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns.open >= s.most {
		s.counts.AcceptStalls++
	}
	for s.conns.open >= s.most && !s.accepting.closed {
		s.conns.ended.Wait()
	}
}

// serveConn begins to serve a connection, which is counted already.
func (s *server) serveConn(c *conn) {
	s.mu.Lock()
	defer s.unlock()
	s.counts.Accepted++
	if s.hooks.connState != nil {
		s.mu.Unlock()
		s.hooks.state(c, http.StateNew)
		s.mu.Lock()
	}
	switch {
	case c.ended:
		return
	case s.accepting.closed:
		c.end()
		return
	}
	d := s.hooks.headerTimeout()
	if s.config != nil {
		d = s.hooks.handshakeTimeout()
	}
	if d > 0 {
		c.until = s.sinceStart(time.Now().Add(d))
	}
	s.park(c)
	c.read()
}
