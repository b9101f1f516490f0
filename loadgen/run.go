package loadgen

import (
	"context"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Run puts load on the targets until a limit of the options is reached or ctx ends, and returns
// what it measured. If ctx ends, Result.Interrupted is set. Every error is an
// *evenkeel.OptionError. If the service is down, the Result has failures.
func Run(ctx context.Context, o Options) (*Result, error) {
	e, err := newEngine(o)
	if err != nil {
		return nil, err
	}
	return e.load(ctx), nil
}

func (e *engine) load(caller context.Context) *Result {
	o := e.o
	// The loops see no deadline, because a dial could fail at ctx's and count as the service's
	// timeout.
	ctx, cancel := context.WithCancel(context.WithoutCancel(caller))
	defer cancel()
	if caller.Err() != nil {
		cancel()
	}
	stop := context.AfterFunc(caller, func() {
		cancel()
		e.closeConns()
	})
	defer stop()

	e.negotiate(ctx)
	var l loop = newClosedLoop(ctx, e)
	if o.Rate > 0 {
		l = newOpenLoop(ctx, e)
	}
	if o.Warmup > 0 {
		e.run(ctx, l, phase{warmup: true, duration: o.Warmup})
	}
	if ctx.Err() == nil && o.OnMeasure != nil {
		o.OnMeasure()
	}
	started := time.Now()
	rec := e.run(ctx, l, phase{requests: int64(o.Requests), duration: o.Duration})
	interrupted := ctx.Err() != nil
	e.closeConns()
	cancel()
	e.wg.Wait()

	res := rec.result()
	res.Started, res.Interrupted = started, interrupted
	res.Connections, res.Rate, res.Timeout, res.Warmup = o.Connections, o.Rate, o.Timeout, o.Warmup
	res.Arrivals, res.Seed, res.Stages = o.Arrivals, o.Seed, o.Stages
	switch {
	case e.http2:
		res.Protocol, res.Streams = ProtocolHTTP2, o.Streams
	case o.Transport == nil && o.Call == nil:
		res.Protocol = ProtocolHTTP1
	}
	res.Connects = e.connects.Load()
	for _, r := range e.reqs[:min(len(e.reqs), listedTargets)] {
		res.Targets = append(res.Targets, r.target.Method+" "+r.target.URL)
	}
	res.MoreTargets = len(e.reqs) - len(res.Targets)
	if res.Overload = rec.overload(o.Rate); res.Overload != nil && len(o.Stages) == 0 && len(o.Times) == 0 {
		res.Overload.Answered = res.Throughput() // as readers see elsewhere
		res.Overload.Text = res.Overload.sentence()
	}
	return res
}

// Check returns the error that Run would return, without a run.
func Check(o Options) error {
	_, err := newEngine(o)
	return err
}

// loop decides when to send.
type loop interface {
	// run returns after the phase or ctx ends, when no request is in flight.
	run(ctx context.Context, p phase, rec *recorder)
	load() (inFlight, backlog int64)
}

func (e *engine) run(ctx context.Context, l loop, p phase) *recorder {
	rec := newRecorder(e.o.Rate > 0, e.now())
	rec.classify(e.classes, func(j job) int { return e.classOf[e.target(j)] })
	if p.duration > 0 {
		rec.until = rec.from + int64(p.duration)
	}
	if e.o.OnLatency != nil && !p.warmup {
		rec.seen = func(due, end int64) { e.o.OnLatency(e.epoch.Add(time.Duration(due)), time.Duration(end-due)) }
	}
	if e.o.OnProgress != nil {
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { e.report(l, p, rec, done) })
		defer wg.Wait()
		defer close(done)
	}
	l.run(ctx, p, rec)
	return rec
}

func (e *engine) report(l loop, p phase, rec *recorder, done <-chan struct{}) {
	t := time.NewTicker(e.o.ProgressInterval)
	defer t.Stop()
	var last Progress
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		now := Progress{Warmup: p.warmup, Elapsed: time.Duration(e.now() - rec.from)}
		rec.progress(&now)
		now.InFlight, now.Backlog = l.load()
		now.Rate = float64(now.Done-now.Failed-last.Done+last.Failed) / (now.Elapsed - last.Elapsed).Seconds()
		if p.duration > 0 {
			now.Fraction = now.Elapsed.Seconds() / p.duration.Seconds()
		}
		if p.requests > 0 {
			now.Fraction = max(now.Fraction, float64(now.Done)/float64(p.requests))
		}
		now.Fraction = math.Min(now.Fraction, 1)
		e.o.OnProgress(now)
		last = now
	}
}

type engine struct {
	o        Options
	reqs     []request
	hosts    []host
	round    []int         // indexes into reqs
	classes  []TargetClass // names and shares
	classOf  []int         // of each target
	epoch    time.Time
	http2    bool // before negotiate: perhaps
	connects atomic.Int64
	wg       sync.WaitGroup // of goroutines that send or receive

	newNap func() func(ns int64) // called in the pacer's goroutine

	mu    sync.Mutex         // guards the rest
	conns map[*conn]struct{} // open ones; nil after the run
}

func newEngine(o Options) (*engine, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	reqs, hosts, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if o.DialContext == nil {
		o.DialContext = new(net.Dialer).DialContext
	}
	e := &engine{
		o: o, reqs: reqs, hosts: hosts, epoch: time.Now(), newNap: newNap, conns: map[*conn]struct{}{},
	}
	if e.round, err = Round(o.Targets); err != nil {
		return nil, err
	}
	if e.classes, e.classOf, err = classesOf(o.Targets); err != nil {
		return nil, err
	}
	e.http2, err = e.preparedHTTP2()
	return e, err
}

func (e *engine) now() int64 { return int64(time.Since(e.epoch)) }

func (e *engine) request(j job) *request { return &e.reqs[e.target(j)] }

func (e *engine) target(j job) int { return e.round[j.index%int64(len(e.round))] }

func (e *engine) inFlight() int {
	if e.http2 {
		return e.o.Connections * e.o.Streams
	}
	return e.o.Connections
}

type phase struct {
	warmup   bool
	requests int64         // 0: no limit
	duration time.Duration // 0: no limit
}
