package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// A Recorder watches the requests of this process. Any goroutine may call its methods.
type Recorder struct {
	o     Options
	log   *slog.Logger
	store *history.Store
	files *files

	threshold atomic.Int64 // ns; the largest number: no request is slow
	requests  atomic.Uint64
	slow      atomic.Uint64
	dropped   atomic.Uint64 // slow, without room in notes
	times     *times        // nil: the threshold is fixed
	notes     chan note

	asks    chan chan<- answer
	stop    chan context.Context
	ending  chan struct{}
	done    chan struct{}
	closed  error
	stopped sync.Once

	mu    sync.Mutex // guards what follows
	stats Stats
	hooks map[*func(Explained)]bool
}

type answer struct {
	file *snapshotFile
	err  error
}

var running atomic.Bool

// Start begins to record until [Recorder.Stop]. ctx is for Start alone. Start returns an
// [*evenkeel.OptionError] if the options cannot work, [ErrRunning] or [ErrFlightRecorder].
func Start(ctx context.Context, o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !running.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	r, err := start(o)
	if err != nil {
		running.Store(false)
	}
	return r, err
}

func start(o Options) (*Recorder, error) {
	if err := o.process.start(size(&o, 0, listed(o.process.goroutines()))); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrFlightRecorder, err)
	}
	store := history.Open(history.Options{Dir: o.Dir, Build: o.Build, Logger: o.Logger})
	kept := &files{most: o.KeepBytes, mine: store.HasDir, temporaries: !o.InProcess}
	if o.Dir != "" {
		kept.dir = filepath.Join(o.Dir, "snapshots")
	}
	r := &Recorder{
		o: o, log: o.Logger, store: store, files: kept,
		notes: make(chan note, noteRoom), asks: make(chan chan<- answer),
		stop: make(chan context.Context, 1), ending: make(chan struct{}), done: make(chan struct{}),
		hooks: map[*func(Explained)]bool{},
	}
	r.threshold.Store(int64(o.Slow))
	if o.Slow == 0 {
		r.times = &times{}
		r.threshold.Store(math.MaxInt64)
	}
	go newLoop(r).run()
	return r, nil
}

// Stop takes a last snapshot if it can be read later, and writes the history. Call it at the end of
// a program, such as on SIGTERM. It waits for a last analysis, 5 s at most. It returns the error of
// ctx, or of a history that could not be written.
func (r *Recorder) Stop(ctx context.Context) error {
	r.stopped.Do(func() {
		r.stop <- ctx
		close(r.ending)
	})
	select {
	case <-r.done:
		return r.closed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Snapshot writes an execution trace of the last seconds to w. If the recorder is off, the trace is
// of the two seconds after the call.
func (r *Recorder) Snapshot(ctx context.Context, w io.Writer) error {
	file, err := r.now(ctx)
	if err != nil {
		return err
	}
	defer file.drop()
	return file.copyTo(w)
}

func (r *Recorder) now(ctx context.Context) (*snapshotFile, error) {
	got := make(chan answer, 1)
	select {
	case r.asks <- got:
	case <-r.ending:
		return nil, errStopped
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case a := <-got:
		return a.file, a.err
	case <-ctx.Done():
		go func() { // the recorder answers each ask
			if a := <-got; a.err == nil {
				a.file.drop()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// slowFrom returns the threshold. ok is false while too few requests are known.
func (r *Recorder) slowFrom() (d time.Duration, ok bool) {
	d = time.Duration(r.threshold.Load())
	return d, d != math.MaxInt64
}

// Explained is a slow request with its cause. A text that is not known is "".
type Explained struct {
	Class     string // the pattern of its route, or what Begin got
	RequestID string // its X-Request-Id, or what Begin got
	TraceID   string // by Options.TraceID
	Start     time.Time
	Duration  time.Duration

	Cause       reqtrace.Cause
	Lost        time.Duration // beyond the usual request's
	Function    string        // that waited, or in which the request ran
	Place       string        // Function with file and line
	Holder      string        // function that had what was waited for
	HolderPlace string        // Holder with file and line
	Words       string        // such as "waiting for a mutex that main.refresh (main.go:43) holds"
	Snapshot    string        // the trace that has it
	New         bool          // the first request of a new cause; at most five per hour
}

// Subscribe calls f once for each slow request that the service explains, so it needs
// Options.InProcess. f must return soon, and must not call Stop or Snapshot. A
// panic in f is logged.
func (r *Recorder) Subscribe(f func(Explained)) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hook := &f
	r.hooks[hook] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.hooks, hook)
	}
}

func (r *Recorder) notify(e Explained) {
	r.mu.Lock()
	hooks := slices.Collect(maps.Keys(r.hooks))
	r.mu.Unlock()
	for _, f := range hooks {
		func() {
			defer func() {
				if v := recover(); v != nil {
					r.log.Warn("recorder: a function of Subscribe panics", "panic", v)
				}
			}()
			(*f)(e)
		}()
	}
}

// Errors, for errors.Is.
var (
	// ErrRunning is what [Start] returns if this process has a recorder already.
	ErrRunning = errors.New("recorder: this process has a recorder already: stop it first, or share it")

	// ErrFlightRecorder is what [Start] returns if another flight recorder is active.
	ErrFlightRecorder = errors.New("recorder: this process has another runtime/trace.FlightRecorder: stop it")

	errStopped = errors.New("recorder: the recorder was stopped")
)
