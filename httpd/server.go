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
	spare = 4           // workers that wait for requests at least, once there were so many
	decay = time.Second // how often half of the workers end that were not needed meanwhile

	// fewEvents lets workers begin after so many reads, where the kernel is asked for each.
	// Handlers that sleep would else all do so at once after the last of many reads, and the
	// process with them.
	fewEvents = 32
)

// ListenAndServe listens and then is [Serve].
func ListenAndServe(ctx context.Context, srv *http.Server, o Options) error {
	ln, o, err := listen(ctx, srv, o)
	if err != nil {
		return err
	}
	return Serve(ctx, srv, ln, o)
}

// Serve serves what ln accepts, until srv is shut down or closed or ln fails, and returns what
// srv.Serve returns: http.ErrServerClosed after a Shutdown or Close, and then not before the last
// connection has ended, but for those that Hijack gave away, and ConnState has returned from their
// ends, but for those that net/http tells it of when a handler returns after that. Shutdown waits
// for the answers that are queued, which their handlers have left behind: for 30 seconds in which a
// client takes nothing; Close does not, and a program that ends then does not send them. When ctx
// ends, srv is closed. ln is closed in any case. Several listeners may be served for one srv.
//
// Connections without a descriptor, those of tls.NewListener for instance, are served as srv.Serve does it: each has a
// goroutine. So is everything where aio has no backend (Windows), or srv.Protocols is without HTTP1.
func Serve(ctx context.Context, srv *http.Server, ln net.Listener, o Options) error {
	return serve(ctx, srv, ln, o, nil)
}

// listen listens as o says, whose defaults it fills in.
func listen(ctx context.Context, srv *http.Server, o Options) (net.Listener, Options, error) {
	o, err := o.normal(srv)
	if err != nil {
		return nil, o, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, o.Network, o.Addr)
	return ln, o, err
}

// serve is Serve, with TLS where there is a config.
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
			o.Logger.Warn("httpd: net/http of this Go release is not as expected and serves alone: update evenkeel.dev",
				"go", runtime.Version(), "reason", err)
		})
		return alone(ctx, srv, ln, config)
	}
	w, err := aio.New(aio.Options{
		Backend: o.Backend, Logger: o.Logger, MaxConns: o.MaxConns, MaxEvents: fewEvents,
		MaxQueuedBytes: 1 << 40, MaxWatcherBytes: 1 << 40, // conn.write waits, where those refuse
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
	if w.Stats().Backend == aio.BackendIOUring.String() { // one call for all that is queued
		s.batches = true
	}
	s.unencrypted = config == nil && srv.Protocols != nil && srv.Protocols.UnencryptedHTTP2()
	s.needed.L, s.ended.L = &s.mu, &s.mu
	s.alive = map[*worker]struct{}{}
	s.ready = s.few[:0]
	s.hooks.begins(s)
	defer s.hooks.ends(s)
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	err = srv.Serve((*listener)(s)) // returns when the listener was closed
	_ = (*listener)(s).Close()
	s.await()
	s.awaitWorkers()
	s.stopTimers()
	return err
}

// alone has net/http serve, as ever.
func alone(ctx context.Context, srv *http.Server, ln net.Listener, config *tls.Config) error {
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	return srv.Serve(ln)
}

// server is what one Serve has.
type server struct {
	watcher *aio.Watcher
	hooks   *hooks
	real    net.Listener
	config  *tls.Config // nil: without TLS
	most    int         // connections at a time
	log     *slog.Logger
	start   time.Time // of which deadlines of connections count
	begun   bool      // connections are accepted; net/http's goroutine that accepts has it

	batches     bool // the loop sends short answers together, where they come fast
	unencrypted bool // HTTP/2 is served, without TLS
	inherited   bool // a connection came after probe, as all do from there on; drive's

	leaving atomic.Bool // awaitWorkers waits

	bounds Options      // its limits in bytes
	memory atomic.Int64 // bytes that were read, or wait to be sent, and that nobody else keeps. Changed under mu

	mu      sync.Mutex           // guards all below, and what conns and workers have
	loop    *aio.Listener        // accepts what connects to real; nil: that does it
	open    int                  // connections, and
	ended   sync.Cond            // one has; or the listener is closed
	accepts int                  // pending in the loop
	taken   int                  // hijacked connections
	ready   []*conn              // have bytes, and no worker
	few     [8]*conn             // what ready begins in
	idle    []*worker            // wait for such; the last one is taken first
	workers int                  // all there are
	alive   map[*worker]struct{} // those of which net/http has told no end, guard and keeper too
	parked  wheel                // have nothing to say, or a part of a header, and no worker
	heading int                  // workers that wait for the rest of a header
	waking  bool                 // a worker was woken, or asked for, and has not looked yet
	needed  sync.Cond            // a worker is asked for; or the listener is closed
	asked   bool
	guarded bool          // guard is there, or asked for
	guard   *worker       // stands for the parked ones when net/http closes what is idle
	keeper  *worker       // stands for those that are left when the listener is closed, until they have ended
	closed  bool          // by the listener's Close: nothing is accepted any more
	failed  error         // why, when nobody asked for it
	unused  int           // how many workers were idle at the least since the last decay
	decays  *time.Timer   // nil: no worker is idle
	expires *time.Timer   // nil: none of parked has a deadline
	expiry  time.Duration // when that is, from start on
	sliced  time.Time     // when workers began a slice of the scheduler's
	given   int           // connections that workers were given since then
	direct  int           // bytes of a Write from which on a worker sends it
	queued  int           // bytes of answers, of all connections
	unread  int           // memory of what was read and nobody has asked for, of all connections
	others  []net.Conn    // without a descriptor: net/http serves them as ever
	empty   chan struct{} // not nil: Serve waits for the last connection's end, but for hijacked ones
	done    bool          // it need not wait any more
	looks   *time.Timer   // of look
	later   []func()      // what unlock calls,
	hooked  []func()      // and of the user's code
	telling int           // of hooked, those that have not returned
	counts  Stats         // its counters
}

// drive hands what aio has done to those that it is for, until the watcher is closed.
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
			_ = s.watcher.Close() // all that is pending comes back, for which workers wait, and Serve
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

// holds counts memory.
func (s *server) holds(bytes int) { s.memory.Add(int64(bytes)) }

// full reports whether all connections together have as much memory as they may. Then nothing is
// copied that a handler can wait for, and of each connection a piece may be read.
func (s *server) full() bool { return s.memory.Load() >= s.bounds.MaxBytes }

// await returns when there is no connection any more but for those that the user has taken over.
// With the last of these the watcher ends.
func (s *server) await() {
	s.mu.Lock()
	s.empty = make(chan struct{})
	s.checkEmpty()
	s.unlock()
	<-s.empty
}

// awaitWorkers returns when net/http has ended all workers, but for those in which the user's code
// runs: it may take for ever. So the http.Server is the user's again when the last Serve returns,
// unless a handler still runs.
func (s *server) awaitWorkers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving.Store(true)
	ends := func() bool {
		for w := range s.alive {
			if w.running.Load() == 0 {
				return true
			}
		}
		return false
	}
	for ends() {
		s.ended.Wait()
	}
}

// live notes that net/http has a worker, or has it no more.
func (s *server) live(w *worker, to http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch to {
	case http.StateNew:
		s.alive[w] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.alive, w)
		s.ended.Broadcast()
	}
}

// stopTimers stops those that would keep a server in memory that is over.
func (s *server) stopTimers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range []*time.Timer{s.decays, s.expires, s.looks} {
		if t != nil {
			t.Stop()
		}
	}
}

// since returns t as the connections have it, 0 of none.
func (s *server) since(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return min(max(1, t.Sub(s.start)), 1<<62) // a tick more is no overflow
}

// checkEmpty ends what waits for the last connection's end. mu is held.
func (s *server) checkEmpty() {
	if s.keeper != nil {
		s.keeper.wake()
	}
	if s.empty == nil {
		return
	}
	if s.open == s.taken && s.telling == 0 && !s.done {
		s.done = true
		s.later = append(s.later, func() { close(s.empty) })
	}
	if s.open == 0 {
		s.later = append(s.later, func() { _ = s.watcher.Close() })
	}
}

// after has f called when mu is released: it is the user's code.
func (s *server) after(f func()) {
	if s.hooks.connState != nil {
		s.telling++
		s.hooked = append(s.hooked, f)
	}
}

// unlock releases mu, and has done what must not be done with it.
func (s *server) unlock() {
	later, hooked := s.later, s.hooked
	s.later, s.hooked = nil, nil
	s.mu.Unlock()
	if len(later) > 0 {
		go call(later)
	}
	if len(hooked) > 0 {
		go func() {
			// not here: who closes a connection may hold what the user's ConnState locks, and
			// net/http its Server's mutex
			call(hooked)
			s.mu.Lock()
			defer s.unlock()
			if s.telling -= len(hooked); s.telling == 0 {
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

// listener is a server as net/http's Serve knows it: it accepts workers.
type listener server

// Accept returns another worker when one is needed.
func (l *listener) Accept() (net.Conn, error) {
	s := (*server)(l)
	if !s.begun { // not before: srv may have been shut down
		s.begun = true
		s.begins()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.asked && !s.closed && (!s.guarded || s.guard != nil) && len(s.others) == 0 {
		s.needed.Wait()
	}
	switch {
	case len(s.others) > 0: // those too that came before the listener failed
		nc := s.others[0]
		s.others = s.others[1:]
		return nc, nil
	case s.closed && s.keeper == nil && s.open > s.taken:
		s.keeper = newWorker(s)
		s.keeper.woken, s.keeper.guard = false, true
		return secured{copying{s.keeper}}, nil
	case s.failed != nil:
		return nil, s.failed
	case s.closed:
		return nil, net.ErrClosed
	}
	if s.guarded && s.guard == nil {
		s.guard = newWorker(s)
		s.guard.woken, s.guard.guard = false, true
		return secured{copying{s.guard}}, nil
	}
	s.asked = false
	s.workers++
	w := newWorker(s)
	if s.config != nil {
		return secured{copying{w}}, nil
	}
	if _, ok := s.real.(*net.UnixListener); ok {
		return copying{w}, nil
	}
	return w, nil
}

// Close ends the accepting, and the connections that are idle: Shutdown and Close of the http.Server call it.
func (l *listener) Close() error {
	s := (*server)(l)
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.needed.Broadcast()
	s.ended.Broadcast()
	if s.failed == nil {
		for _, nc := range s.others {
			s.later = append(s.later, func() { _ = nc.Close() })
			if c := givenOf(nc); c != nil { // net/http, which would tell, does not get it
				s.after(func() { s.hooks.state(c, http.StateClosed) })
			}
		}
		s.others = nil
	}
	s.endIdle()
	loop := s.loop
	s.unlock()
	if !first {
		return nil
	}
	if loop != nil {
		_ = loop.Close()
	}
	return s.real.Close()
}

// Addr returns the real listener's.
func (l *listener) Addr() net.Addr { return l.real.Addr() }
