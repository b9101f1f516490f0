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

// closeTimeout bounds Close. Tests raise it.
var closeTimeout = time.Second

// lookEvery bounds how often a replica that waits reads a Lease.
const lookEvery = 200 * time.Millisecond

// Turns is one replica of a group. It holds at most one turn. Any goroutine may call its methods.
type Turns struct {
	options Options
	gateLog atomic.Pointer[slog.Logger] // nil before a gate starts
	api     *api
	names   []string

	busy       chan struct{}   // full while a TryAcquire runs, and after Close
	slots      map[string]slot // owned by the TryAcquire that runs
	closing    chan struct{}
	ctx        context.Context
	dismiss    context.CancelFunc
	background sync.WaitGroup

	mu     sync.Mutex // guards what follows; never held during a request
	held   *lease
	taking string // by a TryAcquire
	cancel context.CancelFunc
	left   map[string]time.Time // Leases that may be ours by mistake, until when
}

// slot is a Lease as this process saw it last.
type slot struct {
	object object // without a version: it does not exist
	looked time.Time
	since  time.Time // when this version was first seen
}

var (
	_ gcgate.Checker     = (*Turns)(nil)
	_ gcgate.Turns       = (*Turns)(nil)
	_ gcgate.TurnCounter = (*Turns)(nil)
)

// New returns Turns, or an [*evenkeel.OptionError]. It does not wait for the API server. Close
// them.
func New(o Options) (*Turns, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Turns{
		options: o, api: newAPI(o),
		busy: make(chan struct{}, 1), closing: make(chan struct{}),
		slots: make(map[string]slot), left: make(map[string]time.Time), cancel: func() {},
	}
	for i := range o.K {
		t.names = append(t.names, "gcgate-"+o.Group+"-"+strconv.Itoa(i))
	}
	t.ctx, t.dismiss = context.WithCancel(context.Background())
	return t, nil
}

// Check implements [gcgate.Checker]. It reads the first Lease, within Options.Duration.
func (t *Turns) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.options.Duration)
	defer cancel()
	if _, err := t.api.get(ctx, t.names[0]); err != nil && !isCode(err, http.StatusNotFound) {
		return t.explain(err)
	}
	return nil
}

// Attach implements [gcgate.Attacher].
func (t *Turns) Attach(g *gcgate.Gate) { t.gateLog.Store(g.Logger()) }

func (t *Turns) log() *slog.Logger { return cmp.Or(t.gateLog.Load(), slog.Default()) }

// TurnCount implements [gcgate.TurnCounter].
func (t *Turns) TurnCount() int { return t.options.K }

// TryAcquire takes a free slot. It returns [gcgate.ErrHeld] if there is none, or if these Turns
// hold one. It waits for the API server until ctx or Options.Duration ends.
func (t *Turns) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, t.options.Duration)
	defer cancel()
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-t.closing:
		return nil, errClosed
	case <-ctx.Done():
		return nil, t.explain(ctx.Err())
	}
	if err := t.begin(ctx, cancel); err != nil {
		return nil, err
	}
	l, err := t.take(ctx)
	if err != nil {
		return nil, t.explain(err)
	}
	return l, nil
}

func (t *Turns) begin(ctx context.Context, cancel context.CancelFunc) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closing:
		return errClosed
	default:
	}
	if t.held != nil {
		return fmt.Errorf("k8sturn: group %q: %w: this process itself", t.options.Group, gcgate.ErrHeld)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("k8sturn: not asked: %w", err)
	}
	t.cancel = cancel
	return nil
}

func (t *Turns) take(ctx context.Context) (*lease, error) {
	var holders []string
	for _, name := range t.names {
		s, err := t.look(ctx, name)
		if err != nil {
			return nil, err
		}
		if !t.isFree(s) {
			holders = append(holders, s.object.holder())
			continue
		}
		l, err := t.ask(ctx, name, s)
		switch {
		case err == nil:
			return l, nil
		case isCode(err, http.StatusConflict), isCode(err, http.StatusNotFound):
			holders = append(holders, "another one, which was faster")
			t.checkConflict(ctx, name)
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("k8sturn: group %q: %w: %q", t.options.Group, gcgate.ErrHeld, holders)
}

// look reads a slot, unless it was read lately and another replica had it.
func (t *Turns) look(ctx context.Context, name string) (slot, error) {
	s := t.slots[name]
	if time.Since(s.looked) < lookEvery && !t.isFree(s) {
		return s, nil
	}
	o, err := t.api.get(ctx, name)
	if err != nil && !isCode(err, http.StatusNotFound) {
		return s, err
	}
	s.looked = time.Now()
	if o.Metadata.ResourceVersion != s.object.Metadata.ResourceVersion {
		s.object, s.since = o, s.looked
	}
	t.slots[name] = s
	return s, nil
}

// isFree uses this process's clock alone, as client-go's leaderelection does.
func (t *Turns) isFree(s slot) bool {
	if holder := s.object.holder(); holder == "" || holder == t.options.Holder {
		return true
	}
	duration := time.Duration(s.object.Spec.LeaseDurationSeconds) * time.Second
	if duration <= 0 {
		duration = t.options.Duration
	}
	return time.Since(s.since) >= duration
}

// ask takes a slot if it has not changed.
func (t *Turns) ask(ctx context.Context, name string, s slot) (*lease, error) {
	t.mu.Lock()
	t.taking = name // settle must not release it
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

// checkConflict has a Lease released that may be ours, by a request without an answer.
func (t *Turns) checkConflict(ctx context.Context, name string) {
	o, err := t.api.get(ctx, name)
	if isCode(err, http.StatusNotFound) || err == nil && o.holder() != t.options.Holder {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaveLocked(name)
}

func (t *Turns) write(ctx context.Context, name string, s slot, now time.Time) (object, error) {
	mine := spec{
		HolderIdentity: &t.options.Holder, LeaseDurationSeconds: int(t.options.Duration / time.Second),
		AcquireTime: now.UTC().Format(microTime), RenewTime: now.UTC().Format(microTime),
	}
	if s.object.Metadata.ResourceVersion == "" {
		return t.api.create(ctx, name, mine)
	}
	mine.LeaseTransitions = s.object.Spec.LeaseTransitions + 1
	return t.api.patch(ctx, name, s.object.Metadata.ResourceVersion, mine)
}

// holdLocked keeps a slot that was taken. mu is held.
func (t *Turns) holdLocked(name string, o object, asked time.Time) *lease {
	ctx, stop := context.WithCancel(t.ctx)
	l := &lease{turns: t, name: name, stop: stop, lost: make(chan struct{}), version: o.Metadata.ResourceVersion}
	t.held = l
	if _, ok := t.left[name]; ok {
		t.left[name] = time.Time{} // earlier requests now conflict
	}
	t.background.Go(func() { l.keep(ctx, asked) })
	return l
}

// leaveLocked has settle release a Lease that may be ours by mistake. A request may be on its way,
// so settle goes on until the Lease would have expired. mu is held.
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

// settle reads a Lease in left until it has released it or its time is over.
func (t *Turns) settle(name string) {
	for pause := retryPause; ; pause = min(2*pause, settleMax) {
		t.mu.Lock()
		until := t.left[name]
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.ctx, settleTimeout)
		released, _ := t.free(ctx, name)
		cancel()
		t.mu.Lock()
		if (released || !time.Now().Before(until)) && t.left[name].Equal(until) { // else a new request is in doubt
			delete(t.left, name)
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		select {
		case <-t.ctx.Done(): // Close releases it
			return
		case <-time.After(pause):
		}
	}
}

// free releases a Lease that is ours by mistake.
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

// mistaken is false while a TryAcquire asks for the Lease, which may take it as it is.
func (t *Turns) mistaken(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.left[name]) && t.taking != name
}

// Close releases the turn and closes its Lost. It waits a second at most. After an error the turn
// is free after Options.Duration.
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
	t.busy <- struct{}{}

	t.mu.Lock()
	if t.held != nil {
		t.left[t.held.name] = time.Now().Add(t.options.Duration)
	}
	t.dismiss() // with mu held, so that nothing new begins
	t.mu.Unlock()
	t.background.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var failed error
	for name := range t.left {
		_, err := t.free(ctx, name)
		if isCode(err, http.StatusConflict) { // a Release was faster
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
