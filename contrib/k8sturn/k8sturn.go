package k8sturn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
)

// closeTimeout bounds what Close waits for the API server. Tests have it longer.
var closeTimeout = time.Second

// Turns is one replica's part in a group. It holds at most one turn. Its methods may be called
// from any goroutine.
type Turns struct {
	options   Options
	gateLog   atomic.Pointer[slog.Logger] // nil: no gate has started
	unwatched gcgate.Outage               // of the watch
	api       *api
	names     []string // of the group's Leases

	busy       chan struct{} // has an element while a TryAcquire runs, and for good after Close
	closing    chan struct{} // closed by Close
	ctx        context.Context
	dismiss    context.CancelFunc // ends what runs in the background
	background sync.WaitGroup

	mu       sync.Mutex      // never held during a request
	watching bool            // guarded by mu; the observer runs
	slots    map[string]slot // guarded by mu
	// Guarded by mu; slots that this process's own requests told of since the last list was asked
	// for.
	answered map[string]bool
	synced   chan struct{}      // guarded by mu; closed while slots is what the server has
	unsynced error              // guarded by mu; why it is not
	held     *lease             // guarded by mu; nil: none
	taking   string             // guarded by mu; the Lease that the TryAcquire that runs asks for
	cancel   context.CancelFunc // guarded by mu; ends the TryAcquire that runs

	// left has the Leases that this process may have by mistake, with when that is over. There is
	// one settle for each. Guarded by mu.
	left map[string]time.Time
}

// slot is a Lease as the server had it last.
type slot struct {
	object object
	exists bool
	since  time.Time // when this version was seen first, by this process's clock
}

var (
	_ gcgate.Checker     = (*Turns)(nil)
	_ gcgate.Turns       = (*Turns)(nil)
	_ gcgate.TurnCounter = (*Turns)(nil)
)

// New returns the part of this process in a group, or an [*evenkeel.OptionError]. It does not wait for the
// API server: one that is away fails TryAcquire, not New. Close it at the end.
func New(o Options) (*Turns, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Turns{
		options: o, api: newAPI(o),
		busy: make(chan struct{}, 1), closing: make(chan struct{}), synced: make(chan struct{}),
		slots: make(map[string]slot), answered: make(map[string]bool), left: make(map[string]time.Time),
		cancel: func() {},
	}
	for i := range o.K {
		t.names = append(t.names, "gcgate-"+o.Group+"-"+strconv.Itoa(i))
	}
	t.ctx, t.dismiss = context.WithCancel(context.Background())
	return t, nil
}

// Check implements [gcgate.Checker]: it reads the first Lease, within Options.Duration.
func (t *Turns) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.options.Duration)
	defer cancel()
	if _, err := t.api.get(ctx, t.names[0]); err != nil && !isCode(err, http.StatusNotFound) {
		return t.explain(err)
	}
	return nil
}

// Attach implements [gcgate.Attacher]. From then on the turns log to the gate's logger, unless
// Options.Logger is set.
func (t *Turns) Attach(g *gcgate.Gate) { t.gateLog.Store(g.Logger()) }

// log returns the logger. Before a gate starts that is slog.Default().
func (t *Turns) log() *slog.Logger { return cmp.Or(t.options.Logger, t.gateLog.Load(), slog.Default()) }

// TurnCount returns Options.K. See [gcgate.TurnCounter].
func (t *Turns) TurnCount() int { return t.options.K }

// TryAcquire takes a free slot, or returns [gcgate.ErrHeld] when there is none, and when this Turns
// holds one already. While all slots are taken it asks nobody: a watch tells. Else it waits for the
// API server, until ctx or Options.Duration ends.
func (t *Turns) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, t.options.Duration)
	defer cancel()
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-t.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, t.explain(ctx.Err())
	}
	synced, err := t.begin(ctx, cancel)
	if err != nil {
		return nil, err
	}
	select {
	case <-synced:
	case <-ctx.Done():
		t.mu.Lock()
		err := t.unsynced
		t.mu.Unlock()
		if err == nil {
			err = ctx.Err()
		}
		return nil, t.explain(err)
	}
	l, err := t.take(ctx)
	if err == nil {
		return l, nil
	}
	if !errors.Is(err, gcgate.ErrHeld) {
		err = t.explain(err)
	}
	return nil, err
}

// begin lets Close cancel a TryAcquire, unless the answer is known without asking anybody, and has
// the server watched. What it returns is closed once it is known what the server has.
func (t *Turns) begin(ctx context.Context, cancel context.CancelFunc) (synced <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closing:
		return nil, ErrClosed
	default:
	}
	if t.held != nil {
		return nil, fmt.Errorf("k8sturn: group %q: %w: this process itself", t.options.Group, gcgate.ErrHeld)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("k8sturn: not asked: %w", err)
	}
	t.cancel = cancel
	if !t.watching {
		t.watching = true
		t.background.Go(t.observe)
	}
	return t.synced, nil
}

// take takes the first slot that is free.
func (t *Turns) take(ctx context.Context) (*lease, error) {
	var holders []string
	for _, name := range t.names {
		t.mu.Lock()
		s := t.slots[name]
		t.mu.Unlock()
		if holder := s.object.holder(); s.exists && holder != "" && holder != t.options.Holder && !t.expired(s) {
			holders = append(holders, holder)
			continue
		}
		l, err := t.ask(ctx, name, s)
		switch {
		case err == nil:
			return l, nil
		case isCode(err, http.StatusConflict), isCode(err, http.StatusNotFound):
			holders = append(holders, "another one, meanwhile") // the watch will tell
			t.stale(ctx, name, s)
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("k8sturn: group %q: %w: %q", t.options.Group, gcgate.ErrHeld, holders)
}

// ask takes a slot if it is still as it was seen, and keeps it.
func (t *Turns) ask(ctx context.Context, name string, s slot) (*lease, error) {
	t.mu.Lock()
	t.taking = name // what is ours from here on is not to be released
	t.mu.Unlock()
	asked := time.Now()
	o, err := t.write(ctx, name, s, asked)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taking = ""
	if err != nil {
		if inDoubt(err) {
			t.leaveLocked(name)
		}
		return nil, err
	}
	return t.holdLocked(name, o, asked), nil
}

// stale takes in that a slot is not as it was seen, where no watch may tell: one that has lost its
// label, whose end was told before the answer to a request of this process, or whose versions went
// back.
func (t *Turns) stale(ctx context.Context, name string, seen slot) {
	o, err := t.api.get(ctx, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	// By the watch, meanwhile.
	told := t.slots[name].object.Metadata.ResourceVersion != seen.object.Metadata.ResourceVersion
	switch {
	case err == nil && told:
		t.seeLocked(name, o)
	case err == nil:
		t.setLocked(name, o)
	case isCode(err, http.StatusNotFound) && !told:
		t.goneLocked(name)
	}
	if err != nil {
		return
	}
	t.answered[name] = true
	if o.holder() == t.options.Holder { // by a request that this process had given up
		t.leaveLocked(name)
	}
}

// expired reports whether the holder of a slot has not renewed it for its duration, by this
// process's own clock alone: the times in the Lease are of other clocks (as client-go's
// leaderelection has it).
func (t *Turns) expired(s slot) bool {
	duration := time.Duration(s.object.Spec.LeaseDurationSeconds) * time.Second
	if duration <= 0 {
		duration = t.options.Duration
	}
	return time.Since(s.since) >= duration
}

// write makes this process the holder of a slot, if the slot is still as it was seen.
func (t *Turns) write(ctx context.Context, name string, s slot, now time.Time) (object, error) {
	mine := spec{
		HolderIdentity: &t.options.Holder, LeaseDurationSeconds: int(t.options.Duration / time.Second),
		AcquireTime: now.UTC().Format(microTime), RenewTime: now.UTC().Format(microTime),
	}
	if !s.exists {
		return t.api.create(ctx, name, mine)
	}
	mine.LeaseTransitions = s.object.Spec.LeaseTransitions + 1
	return t.api.patch(ctx, name, s.object.Metadata.ResourceVersion, mine)
}

// holdLocked notes that this process has a slot, and keeps it. mu is held.
func (t *Turns) holdLocked(name string, o object, asked time.Time) *lease {
	ctx, stop := context.WithCancel(t.ctx)
	l := &lease{turns: t, name: name, stop: stop, lost: make(chan struct{}), version: o.Metadata.ResourceVersion}
	t.seeLocked(name, o)
	t.answered[name] = true
	t.held = l
	if _, ok := t.left[name]; ok {
		t.left[name] = time.Time{} // no request before this one can be carried out any more
	}
	t.background.Go(func() { l.keep(ctx, asked) })
	return l
}

// leaveLocked has a Lease that this process may have by mistake released in the background: a
// request may still be on its way, so that goes on until the Lease would have expired. mu is held.
func (t *Turns) leaveLocked(name string) {
	if t.ctx.Err() != nil {
		return
	}
	_, settles := t.left[name]
	t.left[name] = time.Now().Add(t.options.Duration)
	if !settles {
		t.background.Go(func() { t.settle(name) })
	}
}

// settle looks at a Lease in left, ever more rarely, until it has released it or the time for that
// is over.
func (t *Turns) settle(name string) {
	for pause := retryPause; ; pause = min(2*pause, settleMax) {
		t.mu.Lock()
		until := t.left[name]
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.ctx, settleTimeout)
		released, _ := t.free(ctx, name)
		cancel()
		t.mu.Lock()
		if (released || !time.Now().Before(until)) && t.left[name].Equal(until) { // else it is in doubt again
			delete(t.left, name)
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		select {
		case <-t.ctx.Done(): // the rest is Close's
			return
		case <-time.After(pause):
		}
	}
}

// free releases a Lease that this process has by mistake. It reports whether it did.
func (t *Turns) free(ctx context.Context, name string) (released bool, err error) {
	if !t.mistaken(name) {
		return false, nil
	}
	o, err := t.api.get(ctx, name)
	if err != nil || o.holder() != t.options.Holder || !t.mistaken(name) {
		return false, err
	}
	_, err = t.api.patch(ctx, name, o.Metadata.ResourceVersion, spec{})
	return err == nil, err
}

// mistaken reports whether this process does not want a Lease that it may have. One that it asks
// for is taken as it is.
func (t *Turns) mistaken(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.left[name]) && t.taking != name
}

// Close releases what is held, whose Lost is closed, and ends what runs in the background. It waits
// at most a second for the API server; when that was too short, the error says so, and the turn is
// free after Options.Duration.
func (t *Turns) Close() error {
	t.mu.Lock()
	select {
	case <-t.closing:
		t.mu.Unlock()
		return nil
	default:
	}
	close(t.closing)
	t.cancel()
	t.mu.Unlock()
	t.busy <- struct{}{} // no TryAcquire runs any more

	t.mu.Lock()
	if t.held != nil {
		t.left[t.held.name] = time.Now().Add(t.options.Duration)
	}
	t.dismiss() // with mu held: nothing new runs in the background, or is in doubt
	t.mu.Unlock()
	t.background.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var failed error
	for name := range t.left { // which nobody changes any more
		_, err := t.free(ctx, name)
		if isCode(err, http.StatusConflict) { // a Release that is under way was faster
			_, err = t.free(ctx, name)
		}
		if err != nil && !isCode(err, http.StatusNotFound) {
			failed = errors.Join(failed,
				fmt.Errorf("k8sturn: Lease %s not released, it expires by itself after %v: %w", name,
					t.options.Duration, err))
		}
	}
	if t.options.ownClient {
		t.options.Client.CloseIdleConnections()
	}
	return failed
}
