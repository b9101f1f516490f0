package gcgate

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const mib = 1 << 20

// fakeSignal is a peer.
type fakeSignal struct {
	mu      sync.Mutex
	takes   time.Duration // each call, or until the context ends
	err     error
	drained bool // as the peer has it
	drains  int
	readys  int
	calls   int // that run now
	most    int
}

var errPeer = errors.New("no such peer")

func (s *fakeSignal) call(ctx context.Context, drain bool) error {
	s.mu.Lock()
	s.calls++
	s.most = max(s.most, s.calls)
	takes, err := s.takes, s.err
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if err == nil {
		s.drained = drain
		if drain {
			s.drains++
		} else {
			s.readys++
		}
	}
	return err
}

func (s *fakeSignal) Drain(ctx context.Context, _ time.Duration) error { return s.call(ctx, true) }
func (s *fakeSignal) Ready(ctx context.Context) error                  { return s.call(ctx, false) }
func (s *fakeSignal) String() string                                   { return "fake" }

func (s *fakeSignal) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *fakeSignal) isDrained() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drained
}

// fakeTurns lets k at once.
type fakeTurns struct {
	mu    sync.Mutex
	k     int
	takes time.Duration
	err   error
	held  map[*fakeLease]bool
}

type fakeLease struct {
	turns *fakeTurns
	lost  chan struct{}
}

func (t *fakeTurns) TryAcquire(ctx context.Context) (Lease, error) {
	t.mu.Lock()
	takes, err := t.takes, t.err
	t.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.held) >= max(t.k, 1) {
		return nil, ErrHeld
	}
	if t.held == nil {
		t.held = make(map[*fakeLease]bool)
	}
	l := &fakeLease{turns: t, lost: make(chan struct{})}
	t.held[l] = true
	return l, nil
}

func (t *fakeTurns) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.held {
		close(l.lost)
	}
	clear(t.held)
}

func (t *fakeTurns) holders() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.held)
}

func (l *fakeLease) Lost() <-chan struct{} { return l.lost }

func (l *fakeLease) Release(context.Context) error {
	l.turns.mu.Lock()
	defer l.turns.mu.Unlock()
	delete(l.turns.held, l)
	return nil
}

// rig is a gate over a fake heap, in fake time.
type rig struct {
	*Gate
	heap   *countedHeap
	mu     sync.Mutex
	events []Event
	on     func(Event) // nil: nothing
	logged logBuffer
}

// countedHeap counts some calls. The mutex of its heap guards the counts.
type countedHeap struct {
	*gcgatetest.Heap
	reads, limitsSet int
	running          int    // calls of Collect
	scavenged        uint64 // bytes that it had to give back at once when a limit was set below what it had
}

func (h *countedHeap) Read() (cycles, automatic, allocated, live uint64) {
	h.Do(func() { h.reads++ })
	return h.Heap.Read()
}

func (h *countedHeap) Collect() {
	h.Do(func() { h.running++ })
	h.Heap.Collect()
	h.Do(func() { h.running-- })
}

func (h *countedHeap) SetLimit(bytes int64) (old int64) {
	before := h.Mapped()
	old = h.Heap.SetLimit(bytes)
	if after := h.Mapped(); bytes >= 0 {
		h.Do(func() { h.limitsSet, h.scavenged = h.limitsSet+1, h.scavenged+before-min(after, before) })
	}
	return old
}

// inTime runs f in a bubble of fake time with a gate over the usual heap, and stops the gate.
func inTime(t *testing.T, o Options, f func(t *testing.T, r *rig)) {
	t.Helper()
	inTimeOver(t, o, gcgatetest.NewHeap, f)
}

// inTimeOver is inTime over another heap.
func inTimeOver(t *testing.T, o Options, heap func() *gcgatetest.Heap, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := startRig(t, o, heap())
		f(t, r)
		if h := r.heap; h.Hang != nil {
			select {
			case <-h.Hang:
			default:
				close(h.Hang)
			}
		}
		r.Stop()
		for time.Sleep(time.Second); isCollecting(r.heap); { // goroutines of the test and the fake end
			time.Sleep(time.Second)
		}
		if r.heap.Percent != 100 || r.heap.Limit != math.MaxInt64 {
			t.Errorf("after Stop GOGC is %d and the limit %d: not what it was", r.heap.Percent, r.heap.Limit)
		}
	})
}

func startRig(t *testing.T, o Options, h *gcgatetest.Heap) *rig {
	t.Helper()
	r := &rig{heap: &countedHeap{Heap: h}}
	o.Logger = slog.New(slog.NewTextHandler(&r.logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
	o.OnEvent = func(e Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
		if r.on != nil {
			r.on(e)
		}
	}
	if o.DisableTurns = o.Turns == nil; o.Collector == nil {
		o.Collector = r.heap
	}
	var err error
	if r.Gate, err = Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return r
}

// onEvent calls f at each event from now on.
func (r *rig) onEvent(f func(Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = f
}

// isCollecting reports whether a Collect runs.
func isCollecting(h *countedHeap) (yes bool) {
	h.Do(func() { yes = h.running > 0 })
	return yes
}

// traffic sends a short request each millisecond from now on, to a process that is in rotation.
func (r *rig) traffic() {
	go func() {
		for !r.stopping.Load() {
			if !r.status.out() {
				r.Enter().Exit()
			}
			time.Sleep(time.Millisecond)
		}
	}()
}

// until waits for a state, at most a minute of fake time.
func (r *rig) until(t *testing.T, s State) {
	t.Helper()
	for range 60_000 {
		if r.State() == s {
			synctest.Wait()
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never %v: %+v\n%s", s, r.Stats(), r.logged.String())
}

// states returns the states of the events since the n-th.
func (r *rig) states() []State {
	r.mu.Lock()
	defer r.mu.Unlock()
	var s []State
	for _, e := range r.events {
		s = append(s, e.State)
	}
	return s
}

// logBuffer is a buffer for several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
