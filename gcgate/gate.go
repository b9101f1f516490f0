package gcgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Gate decides when this process collects. Any goroutine may call its methods.
type Gate struct {
	requests *counter
	status   *status
	waiters  *waiters
	signals  []Signal
	control  *control // owned by the control goroutine
	log      *slog.Logger

	stopping atomic.Bool
	stop     chan struct{}
	done     chan struct{}
	free     func() // restores the collector, once
}

// An Attacher is a [Signal] or [Turns] that needs the gate. [Start] calls Attach before all other
// methods but Validate and TurnCount. Attach must not call Stop or Collect.
type Attacher interface {
	Attach(g *Gate)
}

var running atomic.Bool

// Start takes over the garbage collector of this process, and collects once, within ctx. It returns
// an [*evenkeel.OptionError], the error of a [Validator], [ErrRunning], or ctx's error.
func Start(ctx context.Context, o Options) (*Gate, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Collector != nil {
		return start(ctx, o, func() {})
	}
	if !running.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	o.Collector = newGoRuntime()
	g, err := start(ctx, o, func() { running.Store(false) })
	if err != nil {
		running.Store(false)
	}
	return g, err
}

func start(ctx context.Context, o Options, freed func()) (*Gate, error) {
	limit, err := o.memoryLimit()
	if err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	took, err := collectOnce(ctx, o.Collector)
	if err != nil {
		return nil, err
	}
	g := &Gate{
		requests: newCounter(), status: newStatus(), waiters: &waiters{calls: make(map[chan struct{}]bool)},
		signals: slices.Clone(o.Signals), log: o.Logger, stop: make(chan struct{}), done: make(chan struct{}),
	}
	c := newControl(o, limit, g)
	g.control = c
	g.free = sync.OnceFunc(func() {
		c.pacing.restore()
		freed()
	})
	if a, ok := o.Turns.(Attacher); ok {
		a.Attach(g)
	}
	for _, s := range o.Signals {
		if a, ok := s.(Attacher); ok {
			a.Attach(g)
		}
		c.rounds.announcers = append(c.rounds.announcers, newAnnouncer(s, g.log))
	}
	running, cancel := context.WithCancel(context.Background())
	for _, a := range c.rounds.announcers {
		c.others.Go(func() { a.run(running) })
		c.others.Go(func() { a.checkPeer(running) })
		if w, ok := a.signal.(Watcher); ok {
			c.others.Go(func() { w.Watch(running, g) })
		}
	}
	c.others.Go(func() { c.turns.check(running) })
	c.begin(took)
	go g.run(cancel)
	return g, nil
}

func collectOnce(ctx context.Context, c Collector) (took time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	began := time.Now()
	ended := collect(c)
	select {
	case <-ended:
		return time.Since(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run is the control goroutine. The announcers outlive it until all peers have this process back.
func (g *Gate) run(endAnnouncers context.CancelFunc) {
	g.control.run()
	g.control.pacing.restore()
	g.control.awaitPeers()
	endAnnouncers()
	g.control.others.Wait()
	g.free()
	close(g.done)
}

// Stop gives the collector back, waits up to a minute until the peers have this process back, and
// releases the turn. Call it before the server's Shutdown, because peers may poll until then.
//
// If ctx ends first, the error of Stop wraps its error. The collector has been given back
// nevertheless. Stop may be called again.
func (g *Gate) Stop(ctx context.Context) error {
	if g.stopping.CompareAndSwap(false, true) {
		close(g.stop)
	}
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		if isClosed(g.done) {
			return nil
		}
	}
	g.free()
	g.status.abandon()
	missing := "a call of a Signal, Turns or OnEvent has not returned"
	for _, a := range g.control.rounds.announcers {
		if a.unconfirmed() {
			missing = "the peer of " + a.signal.String() + " does not have this process back"
		}
		a.withdraw()
	}
	return fmt.Errorf("gcgate: stopped, but %s: %w", missing, ctx.Err())
}

// Enter counts a request in, in some ten nanoseconds and without allocating. Call [Ticket.Exit]
// when its answer is written.
func (g *Gate) Enter() Ticket { return g.requests.enter() }

// Requests returns how many requests are in flight, and how many have entered, modulo 2^32. It is
// not a snapshot.
func (g *Gate) Requests() (inFlight int, entered uint32) { return g.requests.read() }

// Refusing reports whether to refuse new requests, under [PolicyShed]. An adapter asks before
// [Gate.Enter], answers "try elsewhere" (503, UNAVAILABLE), and calls [Gate.CountRefused].
func (g *Gate) Refusing() bool { return g.status.refusing.Load() }

// CountRefused counts a refused request for [Stats].Refused.
func (g *Gate) CountRefused() { g.status.refused.Add(1) }

// Remaining returns for how much longer this process expects to be drained, at least 1 ms, and 0 if
// it is not.
func (g *Gate) Remaining() time.Duration { return g.status.remaining() }

// State returns the gate's state.
func (g *Gate) State() State { return State(g.status.state.Load()) }

// Signals returns those of [Options].
func (g *Gate) Signals() []Signal { return slices.Clone(g.signals) }

// Stats returns what the gate did since its start. It allocates.
func (g *Gate) Stats() Stats {
	g.status.mu.Lock()
	defer g.status.mu.Unlock()
	s := g.status.stats
	inFlight, entered := g.requests.read()
	s.Entered += uint64(entered - uint32(s.Entered))
	s.Collections, s.Phases = maps.Clone(s.Collections), maps.Clone(s.Phases)
	s.State, s.InFlight, s.Refused = g.State(), inFlight, g.status.refused.Load()
	s.Turn.Holding = int(g.control.turns.holding.Load())
	s.Turn.HeldUpBy, s.Turn.HeldUpFor = g.control.turns.heldUp.get()
	return s
}

// Logger returns [Options].Logger for signals and adapters, and slog.Default() if g is nil.
func (g *Gate) Logger() *slog.Logger {
	if g == nil {
		return slog.Default()
	}
	return g.log
}

// BorrowTurn takes the turn until end is called, for a [Watcher] that must not act while another
// replica collects. It returns [ErrHeld] if another replica has the turn or this one waits for it.
func (g *Gate) BorrowTurn(ctx context.Context) (end func(), err error) {
	return g.control.turns.borrow(ctx)
}

// Collect asks for a collection like any other, and waits until it has ended. It returns ctx's
// error, or [ErrStopped] if the gate stops.
func (g *Gate) Collect(ctx context.Context) error { return g.collect(ctx, false) }

// CollectWithoutTurn is Collect, but waits for the turn for 10 ms only. It is for a [Signal] whose
// peers ask this process to collect before they do (evenkeel.dev/contrib/raftgate).
func (g *Gate) CollectWithoutTurn(ctx context.Context) error { return g.collect(ctx, true) }

func (g *Gate) collect(ctx context.Context, withoutTurn bool) error {
	if g.stopping.Load() {
		return ErrStopped
	}
	ended := g.waiters.add(withoutTurn)
	defer g.waiters.remove(ended)
	signal(g.control.wake)
	if withoutTurn {
		signal(g.requests.wake)
	}
	select {
	case <-ended:
		return nil
	case <-g.stop:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Test for these errors with errors.Is.
var (
	// ErrHeld is what [Turns.TryAcquire] returns if another replica has the turn.
	ErrHeld = errors.New("gcgate: another replica has the turn")

	// ErrRunning is what [Start] returns if this process has a gate already.
	ErrRunning = errors.New("gcgate: this process has a gate already: stop it first, or share it")

	// ErrUnreached is in the error of [Signal.Drain] if its peer cannot have acted on this call.
	// The gate holds no turn for it.
	ErrUnreached = errors.New("gcgate: the peer was not reached")

	// ErrNotBack is in the error of [Signal.Ready] if its peer answers, but does not have this
	// process back yet. The gate holds the turn for it for up to five minutes.
	ErrNotBack = errors.New("gcgate: the peer does not have this process back yet")

	// ErrStopped is what [Gate.Collect] returns once [Gate.Stop] was called.
	ErrStopped = errors.New("gcgate: the gate was stopped")
)
