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
	acceptPause = 20 * time.Millisecond // after an Accept that failed and may succeed later
	acceptTurn  = 64                    // connections of a burst that one WaitIO returns
	closedLook  = time.Second           // period of look
)

// socket is a listener of package net that has a descriptor.
type socket interface {
	net.Listener
	syscall.Conn
}

// kept is a socket of the user's, which stays open while aio has a duplicate.
type kept struct{ socket }

func (kept) Close() error { return nil }

// begins starts accepting: in the loop, or by a goroutine if the listener has no descriptor or is
// of another type.
func (s *server) begins() {
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

// probe turns on keep-alive probes and TCP_NODELAY, as package net does for connections that it
// accepts. aio's inherit them.
func probe(ln net.Listener) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return
	}
	if f, err := tcp.File(); err == nil {
		enable(f)
	}
}

// enable sets the options of a socket by f, a duplicate, and closes f.
func enable(f *os.File) {
	defer f.Close()
	nc, err := net.FileConn(f) // sets TCP_NODELAY
	if err != nil {
		return
	}
	defer nc.Close()
	if c, ok := nc.(*net.TCPConn); ok {
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true})
	}
}

// look ends the accepting if the user has closed the listener. The duplicate does not notice that.
func (s *server) look(raw syscall.RawConn) {
	if err := raw.Control(func(uintptr) {}); err != nil {
		s.fail(s.acceptError(net.ErrClosed)) // as the listener's Accept returns it
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.accepting.closed {
		s.conns.looks = time.AfterFunc(closedLook, func() { s.look(raw) })
	}
}

// acceptError returns err as the real listener's Accept would.
func (s *server) acceptError(err error) error {
	at := s.real.Addr()
	return &net.OpError{Op: "accept", Net: at.Network(), Addr: at, Err: err}
}

// fail ends the accepting. Serve returns the reason.
func (s *server) fail(err error) {
	s.mu.Lock()
	if !s.accepting.closed {
		s.accepting.failed = err
	}
	s.mu.Unlock()
	_ = (*listener)(s).Close()
}

// arrived takes a connection from the loop. The user's ConnState may block, so nothing waits for
// it.
func (s *server) arrived(r *aio.Result) {
	if r.Error == nil && !s.inherited {
		s.inherited = inherits(r.Conn)
	}
	switch c := (&conn{server: s, handle: r.Conn, traffic: &noTraffic}); {
	case errors.Is(r.Error, aio.ErrClosed), errors.Is(r.Error, aio.ErrWatcherClosed):
		return
	case r.Error != nil: // aio itself retries errors of one connection or for lack of descriptors
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
			go s.begin(c)
		} else {
			s.begin(c)
		}
	}
}

// more lets the loop accept up to MaxConns. Others wait in the kernel. The caller holds mu.
func (s *server) more() {
	a := &s.accepting
	for a.loop != nil && !a.closed && a.pending < acceptTurn && s.conns.open+a.pending < s.most {
		if s.accepting.loop.Accept(nil, aio.NoDeadline) != nil {
			return // the watcher is closed
		}
		s.accepting.pending++
	}
}

// accept accepts until the listener is closed.
func (s *server) accept() {
	driven, refused := false, false
	for {
		s.room()
		nc, err := s.real.Accept()
		if err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Temporary() { //nolint:staticcheck // as net/http does, for EMFILE and ECONNABORTED
				s.stalled()
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
		default: // a type that embeds one of these has its own methods, and its RemoteAddr may block
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
			s.begin(c)
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

// room waits until there are fewer connections than MaxConns.
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

// stalled counts that a connection waits in the kernel's queue.
func (s *server) stalled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.AcceptStalls++
}

// begin serves a new connection, which is counted already.
func (s *server) begin(c *conn) {
	s.mu.Lock()
	defer s.unlock()
	s.counts.Accepted++
	if s.hooks.connState != nil {
		s.mu.Unlock()
		s.hooks.state(c, http.StateNew) // the user may close it
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
		c.until = s.since(time.Now().Add(d))
	}
	s.park(c)
	c.read()
}
