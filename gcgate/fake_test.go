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

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// fakeHeap is a collector whose heap grows with (fake) time.
type fakeHeap struct {
	mu        sync.Mutex
	rate      float64       // allocation, bytes a second
	live      uint64        // what a collection leaves
	marks     time.Duration // how long a collection marks
	sweeps    time.Duration // how long collect blocks after that
	hang      chan struct{} // not nil: marking does not end before it is closed
	overheads uint64
	group     int64  // limit of the control group
	available uint64 // of the machine

	percent   int
	limit     int64
	at        time.Time // of allocated
	allocated float64
	base      float64 // allocated when the last cycle ended
	marked    uint64
	cycles    uint64
	automatic uint64
	assist    float64 // CPU seconds each automatic cycle
	collects  int     // that run now
	marking   int     // of them those that mark
	reads     int     // calls of read: each wake-up of the gate's loop makes one
	limits    int     // calls of setLimit that set one
}

func newFakeHeap() *fakeHeap {
	return &fakeHeap{rate: 100 * mib, live: 100 * mib, marks: 50 * time.Millisecond, percent: 100, limit: math.MaxInt64, group: math.MaxInt64, at: time.Now()}
}

// advance brings allocated up to now, and collects as the runtime would.
func (h *fakeHeap) advance() {
	now := time.Now()
	h.allocated += h.rate * now.Sub(h.at).Seconds()
	h.at = now
	heap := float64(h.marked) + h.allocated - h.base
	pace := h.percent >= 0 && heap > float64(h.marked)*(1+float64(h.percent)/100)
	if h.marking == 0 && (pace || heap+float64(h.overheads) > float64(h.limit)) && heap > 4*mib {
		h.end()
		h.automatic++
	}
}

func (h *fakeHeap) end() {
	h.base, h.marked = h.allocated, h.live
	h.cycles++
}

func (h *fakeHeap) read() reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	h.advance()
	return reading{cycles: h.cycles, automatic: h.automatic, allocated: uint64(h.allocated), live: h.marked}
}

func (h *fakeHeap) collect() {
	h.mu.Lock()
	h.collects++
	h.marking++
	marks, sweeps, hang := h.marks, h.sweeps, h.hang
	h.mu.Unlock()
	time.Sleep(marks)
	if hang != nil {
		<-hang
	}
	h.mu.Lock()
	h.advance()
	h.end()
	h.marking--
	h.mu.Unlock()
	time.Sleep(sweeps)
	h.mu.Lock()
	h.collects--
	h.mu.Unlock()
}

func (h *fakeHeap) setPercent(p int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance()
	old := h.percent
	h.percent = p
	return old
}

func (h *fakeHeap) setLimit(l int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.limit
	if l >= 0 {
		h.limits++
		h.limit = l
	}
	return old
}

func (h *fakeHeap) running() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.collects > 0
}

func (h *fakeHeap) overhead() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.overheads
}

func (h *fakeHeap) memory() memory {
	h.mu.Lock()
	defer h.mu.Unlock()
	return memory{h.group, h.available}
}

func (h *fakeHeap) cpu() (assist, user float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return float64(h.automatic) * h.assist, time.Since(epoch).Seconds()
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of synctest's clock

// set changes the heap while it runs.
func (h *fakeHeap) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance()
	f()
}

// fakeSignal is a peer.
type fakeSignal struct {
	mu     sync.Mutex
	takes  time.Duration // each call, or until the context ends
	err    error
	away   bool // what the peer thinks
	drains int
	readys int
	calls  int // that run now
	most   int
}

var errPeer = errors.New("no such peer")

func (s *fakeSignal) call(ctx context.Context, away bool) error {
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
		s.away = away
		if away {
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

func (s *fakeSignal) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
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
	heap   *fakeHeap
	mu     sync.Mutex
	events []Event
	logged logBuffer
}

// inTime runs f in a bubble of fake time with a gate over the usual heap, and stops the gate.
func inTime(t *testing.T, o Options, f func(t *testing.T, r *rig)) {
	t.Helper()
	inTimeOver(t, o, newFakeHeap, f)
}

// inTimeOver is inTime over another heap.
func inTimeOver(t *testing.T, o Options, heap func() *fakeHeap, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := startRig(t, o, heap())
		f(t, r)
		if h := r.heap; h.hang != nil {
			select {
			case <-h.hang:
			default:
				close(h.hang)
			}
		}
		r.Stop()
		for time.Sleep(time.Second); r.heap.running(); { // goroutines of the test and the fake end
			time.Sleep(time.Second)
		}
		if r.heap.percent != 100 || r.heap.limit != math.MaxInt64 {
			t.Errorf("after Stop GOGC is %d and the limit %d: not what it was", r.heap.percent, r.heap.limit)
		}
	})
}

func startRig(t *testing.T, o Options, h *fakeHeap) *rig {
	t.Helper()
	r := &rig{heap: h}
	o.Logger = slog.New(slog.NewTextHandler(&r.logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
	o.OnEvent = func(e Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
	o, err := o.normal()
	if err != nil {
		t.Fatal(err)
	}
	if r.Gate, err = start(o, h, func() {}); err != nil {
		t.Fatal(err)
	}
	return r
}

// traffic sends a short request each millisecond from now on, to a process that is not away.
func (r *rig) traffic() {
	go func() {
		for !r.stopping.Load() {
			if !r.away() {
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
