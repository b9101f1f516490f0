package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
)

const (
	spare = 4           // fewest spare workers
	decay = time.Second // after it half of the unused workers end

	// fewEvents bounds the events of a turn. With each read a system call, handlers that sleep
	// would otherwise all begin after the last of many reads.
	fewEvents = 32
)

// ListenAndServe listens and then calls [Serve].
func ListenAndServe(ctx context.Context, srv *http.Server, o Options) error {
	ln, o, err := listen(ctx, srv, o)
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
// Connections without a descriptor have a goroutine, as with srv.Serve. So does every connection if
// aio has no backend (Windows), or if srv.Protocols lacks HTTP1.
func Serve(ctx context.Context, srv *http.Server, ln net.Listener, o Options) error {
	return serve(ctx, srv, ln, o, nil)
}

func listen(ctx context.Context, srv *http.Server, o Options) (net.Listener, Options, error) {
	o, err := o.normal(srv)
	if err != nil {
		return nil, o, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, o.Network, o.Addr)
	return ln, o, err
}

func serve(ctx context.Context, srv *http.Server, ln net.Listener, o Options, config *tls.Config) error {
	o, err := o.normal(srv)
	if err != nil {
		_ = ln.Close()
		return err
	}
	if p := srv.Protocols; p != nil && !p.HTTP1() { // a worker would be refused
		return alone(ctx, srv, ln, config)
	}
	if err := prove(); err != nil {
		unproven.Do(func() {
			o.Logger.Warn("httpd: net/http of this Go release is not as expected, so it serves without httpd; "+
				"update evenkeel.dev", "go", runtime.Version(), "reason", err)
		})
		return alone(ctx, srv, ln, config)
	}
	w, err := aio.New(aio.Options{
		Backend: o.Backend, Logger: o.Logger, MaxConns: o.MaxConns, MaxEvents: fewEvents,
		MaxQueuedBytes: 1 << 40, MaxWatcherBytes: 1 << 40,
	})
	if errors.Is(err, errors.ErrUnsupported) && o.Backend == aio.BackendAuto { // Windows
		return alone(ctx, srv, ln, config)
	}
	if err != nil {
		_ = ln.Close()
		return err
	}
	s := &server{
		watcher: w, hooks: wrap(srv, o.Logger), real: ln, config: config,
		most: o.MaxConns, log: o.Logger, start: time.Now(), bounds: o,
	}
	if w.Stats().Backend == aio.BackendIOUring.String() { // one call sends all that is queued
		s.batches = true
	}
	s.unencrypted = config == nil && srv.Protocols != nil && srv.Protocols.UnencryptedHTTP2()
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	s.work.alive = map[*worker]struct{}{}
	s.work.ready = s.work.few[:0]
	s.hooks.addServe(s)
	defer s.hooks.endServe(s)
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	err = srv.Serve((*listener)(s)) // returns when the listener was closed
	_ = (*listener)(s).Close()
	s.await()
	s.awaitWorkers()
	s.stopTimers()
	return err
}

func alone(ctx context.Context, srv *http.Server, ln net.Listener, config *tls.Config) error {
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	return srv.Serve(ln)
}

// server is what one Serve has. A connection goes round like this:
//
//	aio -> arrived -> serveConn -> park  <---------------------------- release
//	                                |                                    ^
//	             bytes (moved)      v                                    |
//	                              offer -> work.ready -> next -> worker.swap -> net/http -> handler
type server struct {
	watcher *aio.Watcher
	hooks   *hooks
	real    net.Listener
	config  *tls.Config // nil: without TLS
	most    int
	log     *slog.Logger
	start   time.Time // deadlines of connections count from it
	begun   bool      // belongs to net/http's goroutine that accepts

	batches     bool // the loop sends short answers together, if there are many
	unencrypted bool // HTTP/2 is served without TLS
	inherited   bool // this and all later connections came after the probe; belongs to drive

	leaving atomic.Bool // awaitWorkers waits

	bounds Options
	memory atomic.Int64 // bytes that only httpd keeps; changed under mu

	mu     sync.Mutex // guards the rest, the connections and the workers
	counts Stats
	parked wheel    // silent, or with part of a header, and without a worker
	expiry struct { // the first deadline of parked; timer is nil without one
		timer *time.Timer
		at    time.Duration
	}
	accepting struct {
		loop    *aio.Listener // accepts from real; nil: real does
		pending int           // accepts in the loop
		closed  bool
		failed  error // why accepting ended by itself
	}
	conns struct {
		open     int
		hijacked int
		others   []net.Conn    // without a descriptor: net/http serves them
		ended    sync.Cond     // a connection ended, or the listener is closed
		empty    chan struct{} // closed when only hijacked connections are left; nil: Serve does not wait
		over     bool          // empty is closed
		looks    *time.Timer   // of look
	}
	work struct {
		ready   []*conn // have bytes, and no worker
		few     [8]*conn
		idle    []*worker            // wait for ready; the last one is taken first
		count   int                  // all workers
		alive   map[*worker]struct{} // net/http has reported no end of these
		heading int                  // workers that wait for the rest of a header
		waking  bool                 // a worker was woken or asked for, and has not looked yet
		needed  sync.Cond
		asked   bool        // needed asks for a worker
		unused  int         // the fewest idle workers since the last decay
		decays  *time.Timer // nil: no worker is idle
	}
	// standIns are workers that serve nobody. The guard is idle for net/http while connections are
	// parked, and its Close ends these. The keeper is active for net/http from the listener's close to
	// the last connection's end, so Shutdown waits.
	standIns struct {
		guard  *worker
		keeper *worker
		asked  bool // the guard is there, or asked for
	}
	slice struct {
		began time.Time
		given int // connections since then
	}
	bytes struct {
		direct int // a worker sends a Write of this length or more by itself
		queued int
		unread int // memory of bytes that no handler has read
	}
	callbacks struct {
		later   []func() // unlock calls these, and hooked
		hooked  []func() // the user's code
		running int      // of hooked
	}
}

// drive gives aio's results to their connections, until the watcher is closed.
func (s *server) drive() {
	for {
		results, err := s.watcher.WaitIO()
		if errors.Is(err, aio.ErrWatcherClosed) {
			return
		}
		if err != nil {
			s.log.Warn("httpd: the operating system refused to wait for connections: nothing is served any more",
				"error", err)
			s.fail(err)
			_ = s.watcher.Close() // ends what workers and Serve wait for
			continue
		}
		for i := range results {
			if results[i].Op == aio.OpAccept {
				s.arrived(&results[i])
			}
		}
		s.mu.Lock()
		for i := range results {
			switch c := results[i].Tag.(type) {
			case *conn:
				c.done(&results[i])
			case *sender:
				(*conn)(c).done(&results[i])
			}
		}
		s.unlock()
	}
}

func (s *server) holds(bytes int) { s.memory.Add(int64(bytes)) }

// full reports whether the connections use all allowed memory. Then handlers wait instead of
// queueing copies, and a connection is read in pieces.
func (s *server) full() bool { return s.memory.Load() >= s.bounds.MaxBytes }

// await returns when only hijacked connections are left. The watcher ends with the last of these.
func (s *server) await() {
	s.mu.Lock()
	s.conns.empty = make(chan struct{})
	s.checkEmpty()
	s.unlock()
	<-s.conns.empty
}

// awaitWorkers returns when net/http has ended all workers without the user's code. The http.Server
// is then the user's again.
func (s *server) awaitWorkers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving.Store(true)
	ends := func() bool {
		for w := range s.work.alive {
			if w.running.Load() == 0 {
				return true
			}
		}
		return false
	}
	for ends() {
		s.conns.ended.Wait()
	}
}

func (s *server) live(w *worker, to http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch to {
	case http.StateNew:
		s.work.alive[w] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.work.alive, w)
		s.conns.ended.Broadcast()
	}
}

func (s *server) stopTimers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range []*time.Timer{s.work.decays, s.expiry.timer, s.conns.looks} {
		if t != nil {
			t.Stop()
		}
	}
}

// sinceStart returns t as time since the server's start, or 0 for none.
func (s *server) sinceStart(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return min(max(1, t.Sub(s.start)), 1<<62)
}

// checkEmpty ends what waits for the last connection. The caller holds mu.
func (s *server) checkEmpty() {
	if s.standIns.keeper != nil {
		s.standIns.keeper.wake()
	}
	if s.conns.empty == nil {
		return
	}
	if s.conns.open == s.conns.hijacked && s.callbacks.running == 0 && !s.conns.over {
		s.conns.over = true
		s.callbacks.later = append(s.callbacks.later, func() { close(s.conns.empty) })
	}
	if s.conns.open == 0 {
		s.callbacks.later = append(s.callbacks.later, func() { _ = s.watcher.Close() })
	}
}

// after calls f, the user's code, when mu is released.
func (s *server) after(f func()) {
	if s.hooks.connState != nil {
		s.callbacks.running++
		s.callbacks.hooked = append(s.callbacks.hooked, f)
	}
}

// unlock releases mu, and then calls the functions that must not run under it.
func (s *server) unlock() {
	later, hooked := s.callbacks.later, s.callbacks.hooked
	s.callbacks.later, s.callbacks.hooked = nil, nil
	s.mu.Unlock()
	if len(later) > 0 {
		go call(later)
	}
	if len(hooked) > 0 {
		go func() {
			// elsewhere, because this goroutine may hold the user's locks, or net/http's
			call(hooked)
			s.mu.Lock()
			defer s.unlock()
			if s.callbacks.running -= len(hooked); s.callbacks.running == 0 {
				s.checkEmpty()
			}
		}()
	}
}

func call(functions []func()) {
	for _, f := range functions {
		f()
	}
}

// listener is the server as net/http's Serve sees it. It accepts workers.
type listener server

func (l *listener) Accept() (net.Conn, error) {
	s := (*server)(l)
	if !s.begun { // not earlier, because srv may be shut down
		s.begun = true
		s.startAccepting()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hasGuard := func() bool { return !s.standIns.asked || s.standIns.guard != nil }
	for !s.work.asked && !s.accepting.closed && hasGuard() && len(s.conns.others) == 0 {
		s.work.needed.Wait()
	}
	switch {
	case len(s.conns.others) > 0: // even after the listener failed
		nc := s.conns.others[0]
		s.conns.others = s.conns.others[1:]
		return nc, nil
	case s.accepting.closed && s.standIns.keeper == nil && s.conns.open > s.conns.hijacked:
		s.standIns.keeper = newWorker(s)
		s.standIns.keeper.pool.woken, s.standIns.keeper.standIn = false, true
		return secured{copying{s.standIns.keeper}}, nil
	case s.accepting.failed != nil:
		return nil, s.accepting.failed
	case s.accepting.closed:
		return nil, net.ErrClosed
	}
	if s.standIns.asked && s.standIns.guard == nil {
		s.standIns.guard = newWorker(s)
		s.standIns.guard.pool.woken, s.standIns.guard.standIn = false, true
		return secured{copying{s.standIns.guard}}, nil
	}
	s.work.asked = false
	s.work.count++
	w := newWorker(s)
	if s.config != nil {
		return secured{copying{w}}, nil
	}
	if _, ok := s.real.(*net.UnixListener); ok {
		return copying{w}, nil
	}
	return w, nil
}

func (l *listener) Close() error {
	s := (*server)(l)
	s.mu.Lock()
	first := !s.accepting.closed
	s.accepting.closed = true
	s.work.needed.Broadcast()
	s.conns.ended.Broadcast()
	if s.accepting.failed == nil {
		for _, nc := range s.conns.others {
			s.callbacks.later = append(s.callbacks.later, func() { _ = nc.Close() })
			if c := givenOf(nc); c != nil { // net/http cannot report it
				s.after(func() { s.hooks.state(c, http.StateClosed) })
			}
		}
		s.conns.others = nil
	}
	s.endIdle()
	loop := s.accepting.loop
	s.unlock()
	if !first {
		return nil
	}
	if loop != nil {
		_ = loop.Close()
	}
	return s.real.Close()
}

func (l *listener) Addr() net.Addr { return l.real.Addr() }
