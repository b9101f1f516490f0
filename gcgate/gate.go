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

	stop  chan struct{}  // closed by Stop
	done  chan struct{}  // closed when the gate has left the collector to the runtime
	wake  chan struct{}  // someone waits for a collection; capacity 1
	end   func()         // ends the announcers, when the turns are given back and all peers know
	backs sync.WaitGroup // goroutines that give a turn back; the announcers outlive them

	holding atomic.Int32   // turns that are still to be given back
	others  sync.WaitGroup // all other goroutines beside the control goroutine
	freed   func()         // lets another gate start; once
	calls   calls          // of the user's code

	mu      sync.Mutex
	stats   Stats                   // guarded by mu
	waiters map[uint64]chan<- error // of Collect, each with capacity 1; guarded by mu
	asks    uint64                  // the number of the last one; guarded by mu

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

func start(o Options, gc collector, freed func()) (*Gate, error) {
	paced := newPacing(gc)
	g := &Gate{
		options: o, log: o.Logger, gc: paced, requests: newCounter(), epoch: time.Now(),
		stop: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1),
		waiters: make(map[uint64]chan<- error),
	}
	g.freed = sync.OnceFunc(func() {
		paced.giveBack()
		freed()
	})
	limit, err := g.memoryLimit()
	if err != nil {
		return nil, err
	}
	for _, s := range o.Signals {
		if a, ok := s.(Attacher); ok {
			a.Attach(g)
		}
		g.announcers = append(g.announcers, newAnnouncer(s, g.log, &g.calls))
	}
	g.warnWithoutTurns()
	ctx, cancel := context.WithCancel(context.Background())
	g.end = func() {
		bound, done := context.WithTimeout(context.Background(), returnTimeout)
		defer done()
		g.backs.Wait() // the peers must go on hearing until then
		for _, a := range g.announcers {
			a.awaitReturn(bound)
		}
		cancel()
	}
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

// warnWithoutTurns tells what happens when several replicas announce at once.
func (g *Gate) warnWithoutTurns() {
	if g.options.Turns != nil {
		return
	}
	const fix = "with more than one replica set Options.Turns (gcgate.FileTurns, contrib/etcdturn), so that one collects at a time"
	switch g.options.Policy {
	case Shed:
		g.log.Warn("gcgate: policy Shed without Turns: when all replicas collect at once, all refuse, and requests fail: " + fix)
	case Auto, Drain:
		for _, a := range g.announcers {
			if !a.safe {
				a.log.Warn("gcgate: a signal without Turns: when all replicas collect at once, the peer has nobody to send to, and requests fail: " + fix)
			}
		}
	}
}

// Stop gives the collector back to the runtime with the GOGC and memory limit of before. Peers
// that think that this process is away are told that it is ready, and the turn, if it is held,
// goes back when they have acted on it; with or without a turn Stop waits for that, for a minute
// at most. Call it before the server's Shutdown, so that a peer that polls still gets its answers.
//
// When ctx ends first, Stop returns its error: the collector has been given back all the same,
// another gate may start, and what hangs in a Signal, in Turns or in OnEvent is named in the log
// and left behind. Middleware and Tickets go on working. It may be called again.
func (g *Gate) Stop(ctx context.Context) error {
	if g.stopping.CompareAndSwap(false, true) {
		close(g.stop)
	}
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		select {
		case <-g.done: // both: it has stopped
			return nil
		default:
		}
	}
	g.freed()
	if hang := g.calls.names(); len(hang) > 0 {
		g.log.Warn("gcgate: stopped, but these calls have not returned: each must return when its context ends", "calls", hang)
	}
	return ctx.Err()
}

// Enter counts a request in. Its answer written, [Ticket.Exit] it.
func (g *Gate) Enter() Ticket { return g.requests.enter() }

// Requests returns how many requests are in flight, and a count of all that entered so far,
// modulo 2^32: a [Signal] sees by it whether its peer still sends some. It costs some
// nanoseconds a core. It is no snapshot: a request that enters meanwhile may be missing.
func (g *Gate) Requests() (inFlight int, entered uint32) { return g.requests.read() }

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
	g.asks++
	id := g.asks
	g.waiters[id] = ended
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.waiters, id)
	}()
	select {
	case g.wake <- struct{}{}:
	default:
	}
	select {
	case err := <-ended:
		return err
	case <-g.stop:
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
