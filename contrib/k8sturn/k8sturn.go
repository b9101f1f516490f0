package k8sturn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

// closeTimeout bounds what Close waits for the API server. Tests have it longer.
var closeTimeout = time.Second

// Turns is one replica's part in a group. It holds at most one turn. Its methods may be called
// from any goroutine.
type Turns struct {
	options Options
	api     *api
	names   []string // of the group's Leases

	busy       chan struct{} // has an element while a TryAcquire runs, and for good after Close
	closing    chan struct{} // closed by Close
	ctx        context.Context
	dismiss    context.CancelFunc // ends what runs in the background
	background sync.WaitGroup

	mu       sync.Mutex // never held during a request
	watching bool       // guarded by mu; the observer runs
	slots    map[string]slot
	synced   chan struct{}      // guarded by mu; closed while slots is what the server has
	unsynced error              // guarded by mu; why it is not
	held     *lease             // guarded by mu; nil: none
	left     map[string]bool    // guarded by mu; Leases that this process may have by mistake
	cancel   context.CancelFunc // guarded by mu; ends the TryAcquire that runs
}

// slot is a Lease as the server had it last.
type slot struct {
	object object
	exists bool
	since  time.Time // when this version was seen first, by this process's clock
}

var (
	_ gcgate.Turns       = (*Turns)(nil)
	_ gcgate.TurnCounter = (*Turns)(nil)
)

// New returns the part of this process in a group, or an [*OptionError]. It does not wait for the API
// server: one that is away fails TryAcquire, not New. Close it at the end.
func New(o Options) (*Turns, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Turns{
		options: o, api: newAPI(o),
		busy: make(chan struct{}, 1), closing: make(chan struct{}), synced: make(chan struct{}),
		slots: make(map[string]slot), left: make(map[string]bool), cancel: func() {},
	}
	for i := range o.K {
		t.names = append(t.names, "gcgate-"+o.Group+"-"+strconv.Itoa(i))
	}
	t.ctx, t.dismiss = context.WithCancel(context.Background())
	return t, nil
}

// TurnCount returns Options.K. See [gcgate.TurnCounter].
func (t *Turns) TurnCount() int { return t.options.K }

// TryAcquire takes a free slot, or returns [gcgate.ErrHeld] when there is none, and when this Turns holds
// one already. While all slots are taken it asks nobody: a watch tells. Else it waits for the API server,
// until ctx or Options.Duration ends.
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

// begin lets Close cancel a TryAcquire, unless the answer is known without asking anybody, and has the
// server watched. What it returns is closed once it is known what the server has.
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
		t.mu.Lock()
		left := t.left[name]
		delete(t.left, name) // what is ours from here on is not to be released
		t.mu.Unlock()
		asked := time.Now()
		o, err := t.write(ctx, name, s, asked)
		switch {
		case err == nil:
			return t.hold(name, o, asked), nil
		case isCode(err, http.StatusConflict), isCode(err, http.StatusNotFound):
			holders = append(holders, "another one, meanwhile") // the watch will tell
			t.stale(ctx, name, s)
			if left { // or it is what this process asked for before
				t.leave(name)
			}
		default:
			if inDoubt(err) {
				t.leave(name)
			}
			return nil, err
		}
	}
	return nil, fmt.Errorf("k8sturn: group %q: %w: %q", t.options.Group, gcgate.ErrHeld, holders)
}

// stale takes in that a slot is not as it was seen, where no watch may tell: one that has lost its label, or whose end was told before the
// answer to a request of this process.
func (t *Turns) stale(ctx context.Context, name string, seen slot) {
	o, err := t.api.get(ctx, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := t.slots[name]; {
	case err == nil:
		t.seeLocked(name, o)
	case isCode(err, http.StatusNotFound) && now.exists && now.object.Metadata.ResourceVersion == seen.object.Metadata.ResourceVersion:
		t.goneLocked(name)
	}
}

// expired reports whether the holder of a slot has not renewed it for its duration, by this process's own
// clock alone: the times in the Lease are of other clocks (as client-go's leaderelection has it).
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

// hold notes that this process has a slot, and keeps it.
func (t *Turns) hold(name string, o object, asked time.Time) *lease {
	ctx, stop := context.WithCancel(t.ctx)
	l := &lease{turns: t, name: name, stop: stop, lost: make(chan struct{}), version: o.Metadata.ResourceVersion}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seeLocked(name, o)
	t.held = l
	t.background.Go(func() { l.keep(ctx, asked) })
	return l
}

// leave has a Lease that this process may have by mistake released in the background.
func (t *Turns) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveLocked(name)
}

// leaveLocked is leave with mu held.
func (t *Turns) leaveLocked(name string) {
	if t.left[name] || t.ctx.Err() != nil {
		return
	}
	t.left[name] = true
	t.background.Go(func() { t.settle(t.ctx, name) })
}

// settle releases a Lease that is this process's by mistake. A request may still be on its way: so it looks
// until the Lease would have expired, unless TryAcquire makes use of it meanwhile.
func (t *Turns) settle(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, t.options.Duration)
	defer cancel()
	for {
		t.mu.Lock()
		wanted := t.left[name]
		t.mu.Unlock()
		if !wanted {
			return
		}
		released, _ := t.free(ctx, name)
		if released || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.left, name)
}

// free releases a Lease that is in left if this process has it. It reports whether it did.
func (t *Turns) free(ctx context.Context, name string) (released bool, err error) {
	o, err := t.api.get(ctx, name)
	t.mu.Lock()
	left := t.left[name]
	t.mu.Unlock()
	if err != nil || o.holder() != t.options.Holder || !left {
		return false, err
	}
	_, err = t.api.patch(ctx, name, o.Metadata.ResourceVersion, spec{})
	return err == nil, err
}

// Close releases what is held, whose Lost is closed, and ends what runs in the background. It waits at most
// a second for the API server; when that was too short, the error says so, and the turn is free after
// Options.Duration.
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
	left := maps.Clone(t.left)
	if t.held != nil {
		left[t.held.name] = true
	}
	t.dismiss() // with mu held: nothing new runs in the background
	t.mu.Unlock()
	t.background.Wait()

	t.mu.Lock()
	t.left = left
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var failed error
	for name := range left {
		_, err := t.free(ctx, name)
		if isCode(err, http.StatusConflict) { // a Release that is under way was faster
			_, err = t.free(ctx, name)
		}
		if err != nil && !isCode(err, http.StatusNotFound) {
			failed = errors.Join(failed, fmt.Errorf("k8sturn: Lease %s not released, it expires by itself after %v: %w", name, t.options.Duration, err))
		}
	}
	if t.options.ownClient {
		t.options.Client.CloseIdleConnections()
	}
	return failed
}
