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
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
)

// process is the process that a recorder runs in. Only analyze is called outside of the recorder's
// goroutine.
type process interface {
	start(window time.Duration, bytes int) error // starts the flight recorder
	stop()
	writeTo(w io.Writer) (int64, error)
	wall() time.Time // now, for who reads it: it may be set. How long something took is asked of time.Since alone
	// that the process has taken; 0 where that is not known: then the budget is that of a process that idles
	cpu() time.Duration
	goroutines() int
	calibrate() time.Duration // what an event of a trace takes; the flight recorder is on
	watching() time.Duration  // what watching the CPU quota takes per second, while the flight recorder is on
	memory() int64            // bytes that it may still take; the largest number if that is not known
	counted() *reqtrace.CPU   // what the kernel has counted; nil if that is not known
	analyze(
		ctx context.Context, hurry <-chan struct{}, head *history.Head, trace io.Reader,
	) (*history.Explained, time.Duration, error)
}

// runtimeProcess is this process.
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

// The calibration takes the fastest of several rounds, because disturbances only make a round
// slower. It measures events in a loop. In a service an event takes longer, because the caches hold
// other data. On a quiet machine at 5,000 requests/s it took 1.4 times as long as in the loop.
const (
	calibrationRounds = 8
	calibrationEvents = 64
	serviceCaches     = 2
)

func (p *runtimeProcess) calibrate() time.Duration {
	ctx, fastest := context.Background(), time.Duration(1<<62)
	for range calibrationRounds {
		start := time.Now()
		for range calibrationEvents {
			trace.Log(ctx, "evenkeel.calibration", "")
		}
		fastest = min(fastest, time.Since(start))
	}
	return serviceCaches * fastest / calibrationEvents
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

// watchCost is the cost of a hundred reads of cpu.stat.
const watchCost = 1500 * time.Microsecond

func (p *runtimeProcess) watching() time.Duration {
	if p.watch == nil {
		return 0
	}
	return watchCost
}
