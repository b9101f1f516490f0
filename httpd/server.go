package httpd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
)

// ListenAndServe listens at srv.Addr, or ":http", and then calls [Serve].
func ListenAndServe(ctx context.Context, srv *http.Server, o Options) error {
	ln, err := listen(ctx, cmp.Or(srv.Addr, ":http"))
	if err != nil {
		return err
	}
	return Serve(ctx, srv, ln, o)
}

// Serve serves the connections of ln until srv is shut down or closed or ln fails, and returns what
// srv.Serve returns. If ctx ends, srv is closed. ln is closed in any case. Several listeners may be
// served for one srv.
//
// After a Shutdown or Close it returns when the last connection has ended, except hijacked ones.
// Shutdown waits for queued answers, for up to 30 seconds in which a client takes nothing. Close
// does not.
//
// It is srv.Serve, with a goroutine for each connection, if aio has no backend (Windows), if
// srv.Protocols lacks HTTP1, or if ln is of another type than *net.TCPListener and
// *net.UnixListener.
func Serve(ctx context.Context, srv *http.Server, ln net.Listener, o Options) error {
	return serve(ctx, srv, ln, o, nil)
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", addr)
}

func serve(ctx context.Context, srv *http.Server, ln net.Listener, o Options, config *tls.Config) error {
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	o, err := o.normal()
	if err != nil {
		_ = ln.Close()
		return err
	}
	if p := srv.Protocols; p != nil && !p.HTTP1() { // a worker would be refused
		return alone(srv, ln, config)
	}
	if err := prove(); err != nil {
		unproven.Do(func() {
			o.Logger.Warn("httpd: net/http of this Go release is not as expected, so it serves without httpd; "+
				"update evenkeel.dev", "go", runtime.Version(), "reason", err)
		})
		return alone(srv, ln, config)
	}
	switch ln.(type) {
	case *net.TCPListener, *net.UnixListener:
	default:
		o.Logger.Warn("httpd: net/http serves this listener by itself; pass a *net.TCPListener or a *net.UnixListener",
			"addr", ln.Addr(), "listener", fmt.Sprintf("%T", ln))
		wrap(srv, nil) // before net/http reads what a Serve of another listener replaces
		return alone(srv, ln, config)
	}
	s := &server{
		real: ln, config: config, log: o.Logger, start: time.Now(), bounds: o,
		empty: make(chan struct{}),
	}
	s.needed.L, s.ended.L = &s.mu, &s.mu
	s.unencrypted = config == nil && srv.Protocols != nil && srv.Protocols.UnencryptedHTTP2()
	s.first, err = s.newLoop()
	if errors.Is(err, errors.ErrUnsupported) && o.Backend == aio.BackendAuto { // Windows
		return alone(srv, ln, config)
	}
	if err != nil {
		_ = ln.Close()
		return err
	}
	s.loops = []*loop{s.first}
	s.hooks = wrap(srv, s)
	defer s.hooks.endServe(s)
	err = srv.Serve(s) // returns when the listener was closed
	_ = s.Close()
	s.await()
	s.balancing.Wait()
	s.stopTimers()
	return err
}

func alone(srv *http.Server, ln net.Listener, config *tls.Config) error {
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	return srv.Serve(ln)
}

// server is what one Serve has, and the listener from which net/http accepts workers. Its first
// loop accepts connections. A connection has one loop at a time, and goes round in it like this:
//
//	aio -> arrived -> serveConn -> park  <---------------------------- release
//	                                |                                    ^
//	             bytes (moved)      v                                    |
//	                              offer -> work.ready -> next -> worker.swap -> net/http -> handler
//
// If the loop is busy, the connection may go to another one when it gets bytes (balance.go). A
// request touches nothing that is shared by the loops and changes.
//
// Lock order: loop.mu (one at a time), server.mu, aio's.
type server struct {
	hooks  *hooks
	real   net.Listener
	config *tls.Config // nil: without TLS
	log    *slog.Logger
	start  time.Time // deadlines of connections count from it
	bounds Options
	first  *loop
	begun  bool // belongs to net/http's goroutine that accepts

	unencrypted bool // HTTP/2 is served without TLS
	inherited   bool // this and all later connections came after the probe; belongs to first.drive

	memory  atomic.Int64 // bytes that only httpd keeps, but for less than a step of each loop
	closed  atomic.Bool  // the listener is. Set under mu
	spread  atomic.Bool  // manyLoops have work. Set by balance
	guarded atomic.Bool  // the guard is there, or asked for. Set under mu

	balancing sync.WaitGroup // balance. It is added to under mu, unless over
	empty     chan struct{}  // closed when Serve waits and only hijacked connections are left

	mu        sync.Mutex // guards the rest
	loops     []*loop    // only added to
	counts    Stats      // of accepting
	accepting struct {
		loop    *aio.Listener // accepts from real
		pending int           // accepts in the first loop
		failed  error         // why accepting ended by itself
	}
	open     int
	hijacked int
	others   []net.Conn // of HTTP/2: net/http serves them
	running  int        // calls of the user's ConnState that are due
	ended    sync.Cond  // a connection ended, or the listener is closed
	awaited  bool       // Serve waits for empty
	over     bool       // empty is closed
	refused  time.Time  // when a loop could not begin; belongs to balance
	needed   sync.Cond  // Accept has something to return
	asking   []*loop    // need a worker
	guard    *standIn
	keeper   *standIn
}

// all returns the loops of now.
func (s *server) all() []*loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loops
}

// full reports whether the connections use all allowed memory. Then handlers wait instead of
// queueing copies, and a connection is read in pieces.
func (s *server) full() bool { return s.memory.Load() >= s.bounds.MaxBytes }

// await returns when only hijacked connections are left. The watchers end with the last of these.
func (s *server) await() {
	s.mu.Lock()
	s.awaited = true
	s.checkEmpty()
	s.mu.Unlock()
	<-s.empty
}

// sinceStart returns t as time since the server's start, or 0 for none.
func (s *server) sinceStart(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return min(max(1, t.Sub(s.start)), 1<<62)
}

// endOf returns when a timeout that begins now is over, or 0 for none.
func (s *server) endOf(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return 0
	}
	return s.sinceStart(time.Now().Add(timeout))
}

// checkEmpty ends what waits for the last connection. The caller holds mu.
func (s *server) checkEmpty() {
	s.ended.Broadcast() // for the keeper
	if !s.awaited {
		return
	}
	if s.open == s.hijacked && s.running == 0 && !s.over {
		s.over = true
		close(s.empty)
	}
	if s.open == 0 {
		go s.closeWatchers()
	}
}

func (s *server) closeWatchers() {
	for _, l := range s.all() {
		_ = l.watcher.Close()
	}
}

// stopTimers ends timers that would keep the server in memory, for up to srv.IdleTimeout.
func (s *server) stopTimers() {
	for _, l := range s.all() {
		l.mu.Lock()
		for _, t := range []*time.Timer{l.expiry.timer, l.work.decays} {
			if t != nil {
				t.Stop()
			}
		}
		l.mu.Unlock()
	}
}

// call calls the user's code, which was counted in running, in a goroutine of its own. The caller's
// goroutine may hold the user's locks, or net/http's.
func (s *server) call(functions []func()) {
	go func() {
		for _, f := range functions {
			f()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running -= len(functions); s.running == 0 {
			s.checkEmpty()
		}
	}()
}

// endIdle ends the connections between requests, as net/http closes idle ones. The caller holds no
// lock.
func (s *server) endIdle() {
	for _, l := range s.all() {
		l.mu.Lock()
		l.endIdle()
		l.unlock()
	}
}

// Accept returns a worker, a stand-in, or a connection that net/http serves by itself.
func (s *server) Accept() (net.Conn, error) {
	if !s.begun { // not earlier, because srv may be shut down
		s.begun = true
		s.startAccepting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hasGuard := func() bool { return !s.guarded.Load() || s.guard != nil }
	for len(s.asking) == 0 && !s.closed.Load() && hasGuard() && len(s.others) == 0 {
		s.needed.Wait()
	}
	switch {
	case len(s.others) > 0: // even after the listener failed
		nc := s.others[0]
		s.others = s.others[1:]
		return nc, nil
	case s.closed.Load() && s.keeper == nil && s.open > s.hijacked:
		s.keeper = newStandIn(s)
		return s.keeper, nil
	case s.accepting.failed != nil:
		return nil, s.accepting.failed
	case s.closed.Load():
		return nil, net.ErrClosed
	case !hasGuard():
		s.guard = newStandIn(s)
		return s.guard, nil
	}
	w := newWorker(s.asking[0])
	s.asking = s.asking[1:]
	if s.config != nil {
		return secured{copying{w}}, nil
	}
	if _, ok := s.real.(*net.UnixListener); ok {
		return copying{w}, nil
	}
	return w, nil
}

func (s *server) Close() error {
	s.mu.Lock()
	first := !s.closed.Swap(true)
	s.needed.Broadcast()
	s.ended.Broadcast()
	if s.accepting.failed == nil {
		for _, nc := range s.others {
			go func() { _ = nc.Close() }()
			if s.hooks.connState != nil { // net/http cannot report it
				s.running++
				s.call([]func(){func() { s.hooks.state(givenOf(nc), http.StateClosed) }})
			}
		}
		s.others = nil
	}
	if s.guard != nil {
		s.guard.moves.Broadcast()
	}
	loop := s.accepting.loop
	s.mu.Unlock()
	s.endIdle()
	if !first {
		return nil
	}
	if loop != nil {
		_ = loop.Close()
	}
	return s.real.Close()
}

func (s *server) Addr() net.Addr { return s.real.Addr() }
