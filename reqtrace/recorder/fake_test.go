package recorder

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
)

// fake is a process with a flight recorder that records numbers of slow requests, in virtual time.
// What is not a test's to set belongs to the recorder's goroutine.
type fake struct {
	event    time.Duration // what an event takes
	busy     float64       // processors that the process takes
	tracing  float64       // and more of them while it records
	parked   int           // goroutines
	lists    bool          // each generation, of a second, lists them
	perByte  func() int64  // bytes that have been recorded in all
	refuses  atomic.Bool   // start fails
	set      atomic.Int64  // by how much the wall clock was set
	stall    atomic.Int64  // goroutines takes so long, once
	defect   atomic.Bool   // goroutines and start panic
	torn     atomic.Int64  // the snapshot from here on at which writeTo panics; 0: none
	low      atomic.Bool   // there is too little memory for an analysis
	writes   atomic.Uint64
	hangs    chan bool // writeTo waits for it; nil: it does not
	analysis func(context.Context, history.Trace) (*history.Explained, time.Duration, error)

	began   time.Time
	on      bool
	since   time.Time
	onFor   time.Duration
	bytesAt int64
	window  time.Duration
	room    int

	analyses atomic.Int64 // CPU time that the analyses took

	mu   sync.Mutex // also held while on, since and window change; only the recorder's goroutine changes them
	jobs []history.Trace
}

func newFake() *fake {
	return &fake{busy: 1, event: time.Microsecond, perByte: func() int64 { return 0 }, began: time.Now()}
}

func (f *fake) start(window time.Duration, room int) error {
	if f.refuses.Load() {
		return errors.New("flight recorder already enabled")
	}
	if f.on || f.defect.Load() {
		panic("it is on already, or a defect")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on, f.since, f.bytesAt, f.window, f.room = true, time.Now(), f.perByte(), window, room
	return nil
}

func (f *fake) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on {
		f.onFor += time.Since(f.since)
	}
	f.on = false
}

func (f *fake) writeTo(w io.Writer) (int64, error) {
	if !f.on {
		return 0, errors.New("cannot snapshot a disabled flight recorder")
	}
	if f.hangs != nil {
		<-f.hangs
	}
	f.writes.Add(1)
	if f.torn.Add(-1) == 0 {
		panic("a defect")
	}
	for g := byte(1); f.lists && time.Duration(g-1)*time.Second <= time.Since(f.since); g++ {
		if _, err := w.Write(append([]byte{1, g}, make([]byte, listedBytes*f.parked)...)); err != nil {
			// a batch of this generation
			return 0, err
		}
	}
	n, err := w.Write(make([]byte, f.perByte()-f.bytesAt))
	return int64(n), err
}

func (f *fake) wall() time.Time { return time.Now().Add(time.Duration(f.set.Load())).Round(0) }

func (f *fake) cpu() time.Duration {
	own := f.busy*float64(time.Since(f.began)) + f.tracing*float64(f.recorded())
	return time.Duration(own) + time.Duration(f.analyses.Load())
}

// recorded returns for how long it was on.
func (f *fake) recorded() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on {
		return f.onFor + time.Since(f.since)
	}
	return f.onFor
}

func (f *fake) goroutines() int {
	time.Sleep(time.Duration(f.stall.Swap(0)))
	if f.defect.Load() {
		panic("a defect")
	}
	return f.parked
}

func (f *fake) calibrate() (event, watching time.Duration) { return f.event, 0 }

func (f *fake) memory() int64 {
	if f.low.Load() {
		return 1 << 20
	}
	return math.MaxInt64
}

func (f *fake) counted() *cpuwatch.CPU { return nil }

func (f *fake) analyze(
	ctx context.Context, _ <-chan struct{}, h *history.Head, _ io.Reader,
) (*history.Explained, time.Duration, error) {
	j := h.Trace
	f.mu.Lock()
	f.jobs = append(f.jobs, j)
	f.mu.Unlock()
	if f.analysis == nil {
		return &history.Explained{}, 0, nil
	}
	return f.analysis(ctx, j)
}

// quiet is a logger for tests.
var quiet = slog.New(slog.DiscardHandler)

// begin starts a recorder over a fake process, which analyses in it.
func begin(t *testing.T, f *fake, o Options) *Recorder {
	t.Helper()
	o.InProcess = true
	return beginKeeping(t, f, o)
}

// beginKeeping starts one that keeps its snapshots.
func beginKeeping(t *testing.T, f *fake, o Options) *Recorder {
	t.Helper()
	o.process, o.Logger = f, cmp.Or(o.Logger, quiet)
	if o.Slow == 0 && o.Quantile == 0 {
		o.Slow = 50 * time.Millisecond
	}
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// end stops it.
func end(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// slowRequest is a request that takes 100 ms and ends now.
func slowRequest(r *Recorder, class string) uint64 {
	r.over(context.Background(), time.Now().Add(-100*time.Millisecond), "", class, false)
	return r.slow.Load()
}

// seen says that a trace has shown a slow request.
func seen(number uint64, cause reqtrace.Cause) history.Request {
	m := history.Mark("", number)
	return history.Request{
		ID: m, Mark: m, Start: time.Now().Add(-100 * time.Millisecond),
		Duration: 100 * time.Millisecond, Key: history.Key{Cause: cause, Class: "GET /"}, Lost: 90 * time.Millisecond,
	}
}

// coverage returns what became of the slow requests.
func coverage(r *Recorder) history.Coverage { return r.store.Snapshot().Coverage(time.Time{}) }

func TestMain(m *testing.M) { leaks.Main(m) }
