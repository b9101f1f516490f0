package gcgate

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Gate decides when this process collects. Its methods may be called from any goroutine.
type Gate struct {
	requests *counter
	status   *status
	waiters  *waiters
	signals  []Signal
	control  *control // owned by the control goroutine
	calls    *calls
	log      *slog.Logger // Options.Logger, with kept
	kept     *keptLog

	stopping atomic.Bool
	stop     chan struct{}
	done     chan struct{}
	free     func() // restores the collector and lets another gate start; once
}

// An Attacher is a [Signal], or [Turns], that needs the gate. [Start] calls Attach before all other
// methods but Validate and TurnCount. Attach must not call Stop nor Collect.
type Attacher interface {
	Attach(g *Gate)
}

var running atomic.Bool

// Start takes over the garbage collector of this process, and collects once, within ctx. It returns
// an [*evenkeel.OptionError], the error of a [Validator], [ErrRunning], or ctx's error. [Gate.Stop]
// ends the gate.
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
	kept := &keptLog{}
	o.Logger = slog.New(&keepingHandler{Handler: o.Logger.Handler(), kept: kept})
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
		requests: newCounter(), status: newStatus(), waiters: &waiters{}, signals: slices.Clone(o.Signals),
		calls: &calls{}, log: o.Logger, kept: kept, stop: make(chan struct{}), done: make(chan struct{}),
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
		c.rounds.announcers = append(c.rounds.announcers, newAnnouncer(s, g.log, g.calls))
	}
	running, cancel := context.WithCancel(context.Background())
	for _, a := range c.rounds.announcers {
		c.others.Go(func() { a.run(running) })
		c.others.Go(func() { a.checkPeer(running) })
		c.others.Go(func() { a.watch(running, g) })
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
	began, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		c.Collect()
	}()
	select {
	case <-ended:
		return time.Since(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run is the control goroutine. The announcers end when the turns are released and all peers have
// this process back.
func (g *Gate) run(endAnnouncers context.CancelFunc) {
	g.control.run()
	g.control.pacing.restore()
	g.control.awaitPeers()
	endAnnouncers()
	g.control.others.Wait()
	g.waiters.answer(g.waiters.now(), ErrStopped)
	g.free()
	close(g.done)
}

// Stop gives the collector back to the runtime, waits until the peers have this process back, for a
// minute at most, and releases the turn. Call it before the server's Shutdown, so that peers that
// poll get answers.
//
// If ctx ends first, Stop returns its error. The collector has been given back nevertheless. The
// log names calls of the user's code that have not returned. Stop may be called again.
func (g *Gate) Stop(ctx context.Context) error {
	if g.stopping.CompareAndSwap(false, true) {
		close(g.stop)
	}
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		select {
		case <-g.done:
			return nil
		default:
		}
	}
	g.free()
	g.status.abandon()
	for _, a := range g.control.rounds.announcers {
		a.withdraw()
	}
	if hang := g.calls.names(); len(hang) > 0 {
		g.log.Warn("gcgate: stopped, but these calls have not returned: each must return when its context ends",
			"calls", hang)
	}
	return ctx.Err()
}

// Enter counts a request in. Call [Ticket.Exit] when its answer is written. It costs some ten
// nanoseconds, and does not allocate.
func (g *Gate) Enter() Ticket { return g.requests.enter() }

// EnterKept is Enter for a request that no peer can send elsewhere, such as a message of an open
// stream. [Stats].IgnoredDrains leaves it out.
func (g *Gate) EnterKept() Ticket { return g.requests.enterKept() }

// Requests returns how many requests are in flight, and how many have entered, modulo 2^32. It is
// not a snapshot, and costs some nanoseconds per core.
func (g *Gate) Requests() (inFlight int, entered uint32) { return g.requests.read() }

// Refusing reports whether to refuse new requests, under [PolicyShed]. An adapter asks before
// [Gate.Enter], answers "try elsewhere" (503, UNAVAILABLE), and calls [Gate.CountRefused]. It costs
// a nanosecond.
func (g *Gate) Refusing() bool { return g.status.refusing.Load() }

// CountRefused counts a request that was refused, for [Stats].Refused.
func (g *Gate) CountRefused() { g.status.refused.Add(1) }

// Remaining returns how much longer this process expects to be out of rotation, at least 1 ms, and
// 0 if it is in rotation.
func (g *Gate) Remaining() time.Duration { return g.status.remaining() }

// State returns the state of the gate.
func (g *Gate) State() State { return State(g.status.state.Load()) }

// Heap returns the bytes of objects, dead ones included, as of the last sample. It costs a
// nanosecond.
func (g *Gate) Heap() uint64 { return g.status.heap.Load() }

// Signals returns those of [Options], so that an adapter finds its own.
func (g *Gate) Signals() []Signal { return slices.Clone(g.signals) }

// Stats returns what the gate did since its start. It allocates, and costs about a microsecond.
func (g *Gate) Stats() Stats {
	g.status.mu.Lock()
	defer g.status.mu.Unlock()
	s := g.status.stats
	inFlight, entered := g.requests.read()
	s.Entered += uint64(entered - uint32(s.Entered))
	s.Collections, s.Phases = maps.Clone(s.Collections), maps.Clone(s.Phases)
	s.State, s.InFlight, s.Heap, s.Refused = g.State(), inFlight, g.Heap(), g.status.refused.Load()
	s.Turn.Holding = int(g.control.turns.holding.Load())
	s.Turn.HeldUpBy, s.Turn.HeldUpFor = g.control.turns.heldUp.get()
	return s
}

// Warnings returns the last five warnings that the gate has logged, each message once, the newest
// last.
func (g *Gate) Warnings() []Warning { return g.kept.warnings() }

// Logger returns [Options].Logger for signals and adapters. [Gate.Warnings] has its warnings, too.
func (g *Gate) Logger() *slog.Logger { return g.log }

// BorrowTurn takes the turn until end is called, for a [Watcher] that must not act while another
// replica collects. It returns [ErrHeld] if another replica has it or this one waits for it.
func (g *Gate) BorrowTurn(ctx context.Context) (end func(), err error) {
	return g.control.turns.borrow(ctx)
}

// Collect asks for a collection, announced like any other, and waits until it has ended. It returns
// ctx's error if ctx ends first, and [ErrStopped] if the gate stops.
func (g *Gate) Collect(ctx context.Context) error { return g.collect(ctx, false) }

// CollectWithoutTurn is Collect, but goes without the turn if the gate does not get it within 10
// ms. It is for a [Signal] whose peers ask this process to collect before they do, as in
// evenkeel.dev/contrib/raftgate.
func (g *Gate) CollectWithoutTurn(ctx context.Context) error { return g.collect(ctx, true) }

func (g *Gate) collect(ctx context.Context, withoutTurn bool) error {
	if g.stopping.Load() {
		return ErrStopped
	}
	call := &waitingCall{make(chan error, 1), withoutTurn}
	g.waiters.add(call)
	defer g.waiters.remove(call)
	g.control.wakeUp()
	if withoutTurn {
		g.requests.wakeSleeper()
	}
	select {
	case err := <-call.ended:
		return err
	case <-g.stop:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Errors of this package. Test for them with errors.Is.
var (
	// ErrHeld is what [Turns.TryAcquire] returns if another replica has the turn.
	ErrHeld = errors.New("gcgate: another replica has the turn")

	// ErrRunning is what [Start] returns if this process has a gate already.
	ErrRunning = errors.New("gcgate: this process has a gate already: stop it first, or share it")

	// ErrUnreached is in the error of [Signal.Drain] if its peer cannot have acted on this call.
	// The gate holds no turn for such a peer.
	ErrUnreached = errors.New("gcgate: the peer was not reached")

	// ErrNotBack is in the error of [Signal.Ready] if its peer answers, but does not have this
	// process back yet. The gate holds the turn for such a peer for up to five minutes.
	ErrNotBack = errors.New("gcgate: the peer does not have this process back yet")

	// ErrStopped is what [Gate.Collect] returns from the call of [Gate.Stop] on.
	ErrStopped = errors.New("gcgate: the gate was stopped")
)
