package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/gcgate/client"
	"evenkeel.dev/loadgen"
)

// Runs with more steal than this, or in which a core stood still for longer, are thrown away and
// repeated, so many times.
const (
	mostSteal = .01
	mostTries = 5

	quietPatience = 2 * time.Minute // before each of them

	mostOthers = .03 // of the machine's CPU, used by other processes: said, not repeated
)

// load is how requests come.
type load struct {
	name  string
	share float64 // of each replica's core that the stock runtime uses
	rate  float64 // requests a second, over all replicas
	times float64 // with share: so many times the rate at which the stock runtime uses that; 0 is 1
	burst bool    // 100 ms on, 600 ms off

	forced bool // all replicas are asked to collect at once, again and again
}

// system is replicas that run and the way to them.
type system struct {
	replicas []*replica
	front    *front            // nil: none
	url      string            // to load
	client   *http.Transport   // nil: loadgen's own
	inBand   *client.Transport // nil: none
	caller   caller            // nil: HTTP to url
	idle     []net.Conn        // have nothing to say
}

// caller makes calls that are no HTTP requests to one URL.
type caller interface {
	call(ctx context.Context, worker int) error // is loadgen's Call
	after(ctx context.Context, s *sample) error // notes what came of all, once they have ended
	close()
}

// open starts n replicas in a mode, and what stands before them.
func (d *driver) open(ctx context.Context, m mode, n int, extra func(i int, s *spec)) (*system, error) {
	s := &system{}
	var urls []string
	for i := range n {
		work := d.work
		if m.work != nil {
			work = m.work
		}
		sp := spec{mode: m, addr: d.addrs[i], core: i % d.cores, args: work, place: d.place(i, n)}
		if extra != nil {
			extra(i, &sp)
		}
		r, err := d.startReplica(ctx, sp)
		if err != nil {
			s.close()
			return nil, err
		}
		s.replicas = append(s.replicas, r)
		urls = append(urls, "http://"+r.addr)
	}
	s.url = urls[0] + m.target()
	switch {
	case m.front != "":
		var err error
		if s.front, err = d.startFront(ctx, m.front); err != nil {
			s.close()
			return nil, err
		}
		s.url = "http://" + d.front + m.target()
	case m.grpc:
		c, err := dialReplicas(d.grpcs[:n], m.streams, m.waits)
		if err != nil {
			s.close()
			return nil, err
		}
		s.caller = c
	case m.raft:
		s.caller = newWriters(s.replicas, urls)
	case n > 1:
		s.client = &http.Transport{MaxIdleConnsPerHost: 1000}
		s.inBand = &client.Transport{Base: s.client, Targets: urls}
	}
	idle := m.idle
	if d.quick {
		idle = min(idle, quickIdle)
	}
	for _, r := range s.replicas {
		conns, err := hold(ctx, r.addr, "/stats", idle) // the work of a request would leave garbage behind
		s.idle = append(s.idle, conns...)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("connection %d of %d to one replica that stay idle: %w", len(conns), idle, err)
		}
	}
	return s, nil
}

// place is what replica i of n must know.
func (d *driver) place(i, n int) place {
	window := raftWindow
	if d.quick {
		window = quickRaft
	}
	return place{
		replica: i, window: window, socket: d.socket, turns: filepath.Join(d.dir, "turns"), etcd: d.etcd, grpc: d.grpcs[i],
		members: "http://" + strings.Join(d.addrs[:n], ",http://"), memory: d.gatedPeak(), warm: d.warmMiB(),
	}
}

func (s *system) close() {
	for _, c := range s.idle {
		_ = c.Close()
	}
	if s.inBand != nil {
		_ = s.inBand.Close() // it has only idle probes to end
	}
	if s.caller != nil {
		s.caller.close()
	}
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	var stopping sync.WaitGroup
	for _, r := range s.replicas {
		stopping.Go(r.stop)
	}
	stopping.Wait()
	if s.front != nil { // last: a replica that is drained as it ends waits for this one's polls
		s.front.stop()
	}
}

// options are those of a load on s.
func (s *system) options(l load, length, warmup time.Duration) loadgen.Options {
	o := loadgen.Options{
		Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url}},
		Rate:    l.rate, Duration: length, Warmup: warmup,
	}
	switch {
	case s.inBand != nil:
		o.Transport = s.inBand
	case s.caller != nil:
		o.Targets, o.Call = nil, s.caller.call
	}
	return o
}

// state is what is read before and after a load.
type state struct {
	at    time.Time
	cpu   []time.Duration
	stats []*stats
	times machine.Times
	ours  time.Duration // CPU time of client, balancer and replicas
}

func (s *system) state(ctx context.Context) (st state, err error) {
	for _, r := range s.replicas {
		x, serr := r.stats(ctx)
		cpu, cerr := machine.CPUTime(r.Pid())
		st.stats, st.cpu = append(st.stats, x), append(st.cpu, cpu)
		err = errors.Join(err, serr, cerr)
	}
	// The replicas and the balancer are children of this process, the balancer's workers theirs.
	var oerr error
	if st.ours, oerr = familyCPU(os.Getpid()); s.front != nil && oerr == nil {
		pid := s.front.Pid()
		var all, master time.Duration
		all, oerr = familyCPU(pid)
		master, _ = machine.CPUTime(pid) // counted above
		st.ours += all - master
	}
	err = errors.Join(err, oerr)
	var jerr error
	st.times, jerr = machine.ReadTimes()
	st.at = time.Now()
	return st, errors.Join(err, jerr)
}

// measure runs one mode under one load. A run that others disturbed is repeated.
func (d *driver) measure(ctx context.Context, m mode, n int, l load, round int) (sample, error) {
	for try := 1; ; try++ {
		s, err := d.measureOnce(ctx, m, n, l)
		if err != nil {
			return s, fmt.Errorf("%s, %s: %w", l.name, m.name, err)
		}
		s.Round, s.Try = round, try
		d.samples = append(d.samples, s)
		void := s.disturbed() && try < mostTries && !d.quick
		d.printSample(s, void)
		if !void {
			return s, nil
		}
	}
}

func (d *driver) measureOnce(ctx context.Context, m mode, n int, l load) (sample, error) {
	start := func() (*system, error) { return d.open(ctx, m, n, nil) }
	if m.leads {
		start = func() (*system, error) { return d.openLed(ctx, m, n) }
	}
	if !d.quick {
		if err := machine.AwaitQuiet(ctx, quietPatience, d.out); err != nil {
			return sample{}, err
		}
	}
	sys, err := start()
	if err != nil {
		return sample{}, err
	}
	defer sys.close()
	return d.loadOn(ctx, sys, m, l)
}

// loadOn loads s and says what became of it.
func (d *driver) loadOn(ctx context.Context, sys *system, m mode, l load) (sample, error) {
	s := sample{Mode: m.name, Load: l.name, Rate: l.rate, Idle: len(sys.idle) / len(sys.replicas)}
	var before state
	var err error
	var still *stalls
	o := sys.options(l, d.length, d.warm(m, l, len(sys.replicas)))
	asking, endAsking := context.WithCancel(ctx)
	defer endAsking()
	var asked sync.WaitGroup
	var all []request // one call at a time appends to it
	o.OnLatency = func(due time.Time, latency time.Duration) { all = append(all, request{due, latency}) }
	o.OnMeasure = func() {
		all = slices.Grow(all, int(1.1*l.rate*d.length.Seconds()))
		still = watchStalls(runtime.NumCPU())
		before, err = sys.state(ctx)
		if m.stalls {
			asked.Go(func() { stallFollowers(asking, sys.replicas) })
		}
		if l.forced && m.counts {
			asked.Go(func() { s.Asked, s.Unanswered = d.ask(asking, sys, forcedEvery) })
		}
	}
	var r *loadgen.Result
	if l.burst {
		o.OnMeasure()
		r = bursts(ctx, o)
	} else {
		var lerr error
		r, lerr = loadgen.Run(ctx, o)
		endAsking()
		asked.Wait()
		if lerr != nil {
			return s, lerr
		}
	}
	if still != nil {
		stood, _ := still.end() // sayStalls has said why there are none
		s.Stalls, s.Stall = len(stood), longest(stood)
		s.Latency, s.Touched = apart(all, stood)
	}
	s.Raw = r.Latency
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	after, aerr := sys.state(ctx)
	if err := errors.Join(err, aerr); err != nil {
		return s, err
	}
	s.take(r)
	if sys.caller != nil {
		if err := sys.caller.after(ctx, &s); err != nil {
			return s, err
		}
	}
	window := after.at.Sub(before.at).Seconds()
	err = s.takeReplicas(ctx, d, sys, m, before, after)
	s.Steal = after.times.StealSince(before.times)
	used := (after.times.Used - before.times.Used).Seconds()
	s.Busy = used / window / float64(runtime.NumCPU())
	s.Others = max(0, used-(after.ours-before.ours).Seconds()) / window / float64(runtime.NumCPU())
	return s, err
}

// takeReplicas copies what the replicas did between two states.
func (s *sample) takeReplicas(ctx context.Context, d *driver, sys *system, m mode, before, after state) (err error) {
	window := after.at.Sub(before.at).Seconds()
	if m.law {
		was, werr := turnGates(before.stats)
		now, nerr := turnGates(after.stats)
		if err := errors.Join(werr, nerr); err != nil {
			return err
		}
		s.Turns = countTurns(was, now, after.at.Sub(before.at))
	}
	for i, rep := range sys.replicas {
		s.CPU = append(s.CPU, (after.cpu[i]-before.cpu[i]).Seconds()/window)
		s.Collections = append(s.Collections, after.stats[i].Runtime.Collections-before.stats[i].Runtime.Collections)
		if g := after.stats[i].Gate; len(g) > 0 && string(g) != "null" {
			s.Gates = append(s.Gates, g)
			was, now := before.stats[i].gate(), after.stats[i].gate()
			s.Escaped = append(s.Escaped, now.Escaped)
			s.Met = append(s.Met, now.Overlapped-was.Overlapped)
			s.MetOther = append(s.MetOther, now.OverlappedOther-was.OverlappedOther)
		}
		if m.quota {
			n, terr := throttled(d.groups[i])
			err = errors.Join(err, terr)
			s.Throttled = append(s.Throttled, n)
		}
		if m.counts {
			var c counted
			err = errors.Join(err, rep.tell(ctx, "/met", &c))
			s.Counted = append(s.Counted, c)
		}
		peak, perr := machine.PeakRSS(rep.Pid())
		own, oerr := machine.OwnBytes(rep.Pid())
		err = errors.Join(err, perr, oerr)
		s.PeakRSS, s.Own = append(s.PeakRSS, peak), append(s.Own, own)
	}
	return err
}

// warm returns how long to load before measuring: until each replica has allocated its live heap
// once more and a bit, so that its first collection lies behind it and its memory is no longer
// new to the kernel. A mode with a workload of its own keeps
// next to nothing, and -quick measures nothing.
func (d *driver) warm(m mode, l load, replicas int) time.Duration {
	if m.raft && !d.quick {
		return d.warmup + time.Duration(1.3*raftLive/(l.rate*requestBytes)*float64(time.Second))
	}
	if m.work != nil || d.quick {
		return d.warmup
	}
	cycles := 1.3
	if m.name == "auto" || m.name == "memory" {
		cycles = 5 // they watch the runtime for three
	}
	first := cycles * float64(d.live) / (l.rate / float64(replicas) * requestBytes) // seconds
	return min(d.warmup+time.Duration(first*float64(time.Second)), mostWarmup)
}

const (
	requestBytes = 64 << 10 // that a request allocates
	mostWarmup   = 12 * time.Second
)

// The bursts of a bursty load.
const (
	burstOn  = 100 * time.Millisecond
	burstOff = 600 * time.Millisecond
)

// bursts runs o in bursts for o.Duration, over connections that stay open, and adds them up.
func bursts(ctx context.Context, o loadgen.Options) *loadgen.Result {
	if o.Transport == nil {
		t := &http.Transport{MaxIdleConnsPerHost: 1000}
		defer t.CloseIdleConnections()
		o.Transport = t
	}
	sum := &loadgen.Result{Statuses: map[int]int64{}}
	length, warmup := o.Duration, o.Warmup
	seen := o.OnLatency
	o.Duration, o.Warmup, o.OnMeasure, o.OnLatency = burstOn, 0, nil, nil
	start := time.Now()
	for time.Since(start) < warmup+length && ctx.Err() == nil {
		due := time.Now()
		if due.Sub(start) >= warmup {
			o.OnLatency = seen
		}
		r, err := loadgen.Run(ctx, o)
		if err != nil {
			break // options that Run refused would have been refused at the first burst
		}
		if due.Sub(start) >= warmup {
			add(sum, r)
		}
		time.Sleep(time.Until(due.Add(burstOn + burstOff)))
	}
	return sum
}

func add(sum, r *loadgen.Result) {
	sum.Answered += r.Answered
	sum.Failed += r.Failed
	sum.Failures = append(sum.Failures, r.Failures...)
	sum.Late += r.Late
	sum.LateMax = max(sum.LateMax, r.LateMax)
	for status, n := range r.Statuses {
		sum.Statuses[status] += n
	}
	sum.Latency.Merge(&r.Latency)
}

// gatedPeak returns the most memory that a gated replica has taken so far; an estimate before
// there was one.
func (d *driver) gatedPeak() int64 {
	peak := int64(0)
	for _, s := range d.samples {
		if s.Mode == "gated" && slices.Contains(pairLoads, s.Load) {
			peak = max(peak, slices.Max(s.PeakRSS))
		}
	}
	if peak == 0 {
		peak = d.live * 23 / 10
	}
	return peak
}
