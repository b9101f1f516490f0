package gcgate

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Gate decides when this process collects. Its methods may be called from any goroutine.
type Gate struct {
	options    Options // normalised
	log        *slog.Logger
	gc         collector
	requests   *counter
	announcers []*announcer
	epoch      time.Time // of the clock in back

	// Read at each request.
	state    atomic.Uint32
	back     atomic.Int64 // when the gate expects to be back, since epoch in ns; 0: not away
	refuse   atomic.Bool  // Shed: new requests are refused
	shed     atomic.Uint64
	heapNow  atomic.Uint64 // bytes, as of the last sample
	stopping atomic.Bool
	gci      gciLimit

	stop   chan struct{}      // closed by Stop
	done   chan struct{}      // closed when the gate has left the collector to the runtime
	wake   chan struct{}      // someone waits for a collection; capacity 1
	end    context.CancelFunc // of the announcers
	others sync.WaitGroup     // goroutines beside the control goroutine
	freed  func()             // lets another gate start

	mu      sync.Mutex
	stats   Stats          // guarded by mu
	waiters []chan<- error // of Collect, each with capacity 1; guarded by mu

	control // owned by the control goroutine
}

// running says that a gate is in charge of the process's collector.
var running atomic.Bool

// Start takes over the garbage collector of this process and returns the gate in charge. It
// collects once, to learn how long that takes. It returns an [*OptionError] when the options
// cannot work, and [ErrRunning] when there is a gate already.
func Start(o Options) (*Gate, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	if !running.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	g, err := start(o, newGoRuntime(), func() { running.Store(false) })
	if err != nil {
		running.Store(false)
	}
	return g, err
}

// attacher is a signal that works inside the gate's middleware.
type attacher interface{ attach(*Gate) }

var _ attacher = (*InBand)(nil)

func start(o Options, gc collector, freed func()) (*Gate, error) {
	g := &Gate{
		options: o, log: o.Logger, gc: gc, requests: newCounter(), epoch: time.Now(), freed: freed,
		stop: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	limit, err := g.memoryLimit()
	if err != nil {
		return nil, err
	}
	for _, s := range o.Signals {
		if a, ok := s.(attacher); ok {
			a.attach(g)
		}
		g.announcers = append(g.announcers, newAnnouncer(s, g.log))
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.end = cancel
	for _, a := range g.announcers {
		g.others.Go(func() { a.run(ctx) })
		g.others.Go(func() { a.greet(ctx) })
	}
	g.control.init(g, limit)
	go g.run()
	return g, nil
}

// memoryLimit returns the memory limit to keep: that of the options or of the runtime, the lower.
func (g *Gate) memoryLimit() (int64, error) {
	limit := g.gc.setLimit(-1)
	if o := g.options.MemoryLimitBytes; o > 0 {
		if o > limit && o != math.MaxInt64 {
			g.log.Warn("gcgate: Options.MemoryLimitBytes is above the runtime's own limit (GOMEMLIMIT), which would be hit first: the lower one holds",
				"option", o, "runtime", limit)
		}
		limit = min(limit, o)
	}
	return limit, g.options.checkLimit(limit)
}

// Stop gives the collector back to the runtime with the GOGC and memory limit of before, and
// tells the peers that this process is ready if they think that it is not. It waits until that
// is done; a balancer that does not answer holds it up for a second at most. Middleware and
// Tickets go on working. It may be called again.
func (g *Gate) Stop() {
	if g.stopping.CompareAndSwap(false, true) {
		close(g.stop)
	}
	<-g.done
}

// Enter counts a request in. Its answer written, [Ticket.Exit] it.
func (g *Gate) Enter() Ticket { return g.requests.enter() }

// State returns where the gate stands.
func (g *Gate) State() State { return State(g.state.Load()) }

// Stats returns what the gate did since its start.
func (g *Gate) Stats() Stats {
	inFlight, _ := g.requests.read()
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Collections = make(map[Reason]uint64, len(g.stats.Collections))
	for k, v := range g.stats.Collections {
		s.Collections[k] = v
	}
	s.Phases = make(map[State]Duration, len(g.stats.Phases))
	for k, v := range g.stats.Phases {
		s.Phases[k] = v
	}
	s.State, s.InFlight, s.Heap, s.Shed = g.State(), inFlight, g.heap(), g.shed.Load()
	return s
}

// Collect asks for a collection, with all that belongs to it, and waits until it has ended. It
// returns ctx's error when that comes first (the collection may still take place), and
// [ErrStopped] when the gate stops.
func (g *Gate) Collect(ctx context.Context) error {
	ended := make(chan error, 1)
	g.mu.Lock()
	if g.stopping.Load() {
		g.mu.Unlock()
		return ErrStopped
	}
	g.waiters = append(g.waiters, ended)
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
	select {
	case err := <-ended:
		return err
	case <-g.done:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// heap returns the bytes of objects as of the last sample, dead ones included.
func (g *Gate) heap() uint64 { return g.heapNow.Load() }

// refusing reports whether new requests must be refused: policy Shed, and away.
func (g *Gate) refusing() bool { return g.refuse.Load() }

// away reports whether the peers were told that this process is away.
func (g *Gate) away() bool { return g.back.Load() != 0 }

// remaining returns how long this process expects to be away yet; 0 when it is not away.
func (g *Gate) remaining() time.Duration {
	back := g.back.Load()
	if back == 0 {
		return 0
	}
	return max(time.Duration(back)-time.Since(g.epoch), time.Millisecond)
}
