package recorder

import (
	"context"
	"io"
	"os"
	"runtime/metrics"
	"runtime/trace"
	"time"

	"evenkeel.dev/internal/cputime"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// process is the process that a recorder runs in. Only the recorder's goroutine calls it, except
// for analyze.
type process interface {
	start(window time.Duration, bytes int) error // of the flight recorder
	stop()
	writeTo(w io.Writer) (int64, error)
	wall() time.Time // for readers; it may be set, so time.Since measures how long something took
	// of the process; 0: not known
	cpu() time.Duration
	goroutines() int
	// calibrate returns what an event of a trace takes, and what watching the CPU quota takes per second.
	calibrate() (event, watching time.Duration)
	memory() int64          // bytes that the process may still take
	counted() *reqtrace.CPU // by the kernel; nil: not known
	analyze(
		ctx context.Context, hurry <-chan struct{}, head *history.Head, trace io.Reader,
	) (*history.Explained, time.Duration, error)
}

type runtimeProcess struct {
	shared  *trace.FlightRecorder // the program's
	own     *trace.FlightRecorder
	command []string
	samples []metrics.Sample
	watch   *cpuwatch.Watch // while the recorder is on; nil: no CPU quota
}

func newRuntime(shared *trace.FlightRecorder, command []string) *runtimeProcess {
	return &runtimeProcess{
		shared: shared, command: command,
		samples: []metrics.Sample{{Name: "/sched/goroutines:goroutines"}},
	}
}

func (p *runtimeProcess) start(window time.Duration, bytes int) error {
	if p.watch == nil {
		if w, _ := cpuwatch.Start(os.Getpid(), false); w.Quota() > 0 {
			p.watch = w
		} else {
			w.End()
		}
	}
	if p.shared != nil {
		return nil
	}
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: window, MaxBytes: uint64(bytes)})
	if err := r.Start(); err != nil {
		return err
	}
	p.own = r
	return nil
}

func (p *runtimeProcess) stop() {
	if p.watch != nil {
		p.watch.End()
		p.watch = nil
	}
	if p.own != nil {
		p.own.Stop()
		p.own = nil
	}
}

func (p *runtimeProcess) writeTo(w io.Writer) (int64, error) {
	if p.shared != nil {
		return p.shared.WriteTo(w)
	}
	return p.own.WriteTo(w)
}

func (p *runtimeProcess) wall() time.Time    { return time.Now().Round(0) }
func (p *runtimeProcess) cpu() time.Duration { return cputime.Process() }

func (p *runtimeProcess) goroutines() int {
	metrics.Read(p.samples)
	if p.samples[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int(p.samples[0].Value.Uint64())
}

// The calibration takes the fastest round, because disturbances only make a round slower. In a
// service an event takes longer than in this loop, because the caches hold other data. On a quiet
// machine at 5,000 requests/s it took 1.4 times as long.
const (
	calibrationRounds = 8
	calibrationEvents = 64
	serviceCaches     = 2
	watchCost         = 1500 * time.Microsecond // of a hundred reads of cpu.stat
)

func (p *runtimeProcess) calibrate() (event, watching time.Duration) {
	ctx, fastest := context.Background(), time.Duration(1<<62)
	for range calibrationRounds {
		start := time.Now()
		for range calibrationEvents {
			trace.Log(ctx, "evenkeel.calibration", "")
		}
		fastest = min(fastest, time.Since(start))
	}
	if p.watch != nil {
		watching = watchCost
	}
	return serviceCaches * fastest / calibrationEvents, watching
}

func (p *runtimeProcess) memory() int64 { return memoryLeft() }

func (p *runtimeProcess) analyze(
	ctx context.Context, hurry <-chan struct{}, head *history.Head, trace io.Reader,
) (*history.Explained, time.Duration, error) {
	if len(p.command) > 0 {
		return analyzeApart(ctx, p.command, head, trace)
	}
	return analyze(ctx, hurry, head, trace)
}

func (p *runtimeProcess) counted() *reqtrace.CPU {
	if p.watch == nil {
		return nil
	}
	return p.watch.Recent()
}
