package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/loadgen"
)

// Times of the faults.
const (
	faultEvery  = 5 * time.Second        // one fault after another
	killedFor   = 500 * time.Millisecond // failures so soon after a kill are the killed process's own
	awaitGCFor  = 3 * time.Second        // the longest wait for a replica that collects
	etcdDownFor = 2 * time.Second
	stoppedFor  = 5 * time.Second // by SIGSTOP
)

// fault is one thing that was broken, and when.
type fault struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"` // the state of the replica that was killed
}

// failure is what failed in one interval of the client's count.
type failure struct {
	At time.Time `json:"at"`
	N  int64     `json:"n"`
}

// faulty is a gated system in which things fail.
type faulty struct {
	*driver
	name string // before its keys in the raw results; "": it was the only one
	what string // for the reader
	sys  *system
	mode mode

	awaited int // how often a fault waited for a replica that collects

	mu       sync.Mutex // guards all below, and sys.replicas
	etcd     *child.Child
	faults   []fault
	failures []failure
	failed   int64
}

// faultySystem is where things fail while n requests are sent.
type faultySystem struct {
	name string
	run  func(d *driver, ctx context.Context, n int, l load) error
}

// faultySystems get a quarter of the requests each.
var faultySystems = []faultySystem{
	{"etcd", (*driver).faultsHAProxy},
	{"haproxy", func(d *driver, ctx context.Context, n int, l load) error {
		return d.faultsFront(ctx, n, l, killedHAProxy)
	}},
	{"envoy", func(d *driver, ctx context.Context, n int, l load) error {
		return d.faultsFront(ctx, n, l, killedEnvoy)
	}},
	{"raft", func(d *driver, ctx context.Context, n int, _ load) error { return d.faultsRaft(ctx, n) }},
}

// faultyNames are their names, with commas between.
func faultyNames() string {
	var names []string
	for _, s := range faultySystems {
		names = append(names, s.name)
	}
	return strings.Join(names, ",")
}

// chooseFaulty returns the systems whose names stand in a comma-separated list.
func chooseFaulty(list string) (chosen []faultySystem, err error) {
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(faultySystems, func(s faultySystem) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("-systems: no system %q; they are %s", name, faultyNames())
		}
		chosen = append(chosen, faultySystems[i])
	}
	return chosen, nil
}

// faults sends n requests while things fail, or the share of some of the systems.
func (d *driver) faults(ctx context.Context, list string, n int, rate float64, results string) error {
	systems, err := chooseFaulty(list)
	if err != nil {
		return err
	}
	l := load{name: "moderate", share: moderate, rate: rate}
	if rate == 0 {
		if l, err = d.calibrate(ctx, modeNamed(modes, "default"), 2, l); err != nil {
			return err
		}
	}
	return d.faultsIn(ctx, systems, n/len(faultySystems), l, results)
}

// faultsIn sends n requests to each system. One that cannot be measured takes nothing from the others, whose results are kept.
func (d *driver) faultsIn(ctx context.Context, systems []faultySystem, n int, l load, results string) (err error) {
	for _, s := range systems {
		if ctx.Err() != nil {
			break
		}
		if serr := s.run(d, ctx, n, l); serr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.name, serr))
		}
	}
	if results == "" || d.quick || len(d.set.Figures) == 0 {
		return err
	}
	d.set.Benchmark = "gate-faults"
	return errors.Join(err, d.set.Save(results))
}

// faultsHAProxy fails replicas and etcd, and reloads HAProxy: the client sends nothing again.
func (d *driver) faultsHAProxy(ctx context.Context, n int, l load) error {
	f := &faulty{driver: d, mode: mode{name: "gated", front: haproxy, args: func(p place) []string {
		return []string{"-gate=drain", "-haproxy", p.server(), "-etcd", p.etcd, "-group", "bench"}
	}}}
	if err := f.startEtcd(ctx); err != nil {
		return err
	}
	defer f.stopEtcd()
	var err error
	if f.sys, err = d.open(ctx, f.mode, 2, nil); err != nil {
		return err
	}
	defer f.sys.close()
	o := f.sys.options(l, 0, d.warmup)
	o.Requests = n
	r, err := f.load(ctx, o, f.repeated(f.killReplica, f.reload, f.killEtcd, f.reload, f.stallReplica, f.stallEtcd, f.restartReplica))
	if err != nil {
		return err
	}
	f.report(r)
	return nil
}

// load loads the system while things fail one after the other, as many as next returns. A quick run ends with the last of them.
func (f *faulty) load(ctx context.Context, o loadgen.Options, next func() func(context.Context) error) (*loadgen.Result, error) {
	fmt.Fprintf(f.out, "%d requests%s at %.0f/s: some %v\n", o.Requests, f.what, o.Rate, (time.Duration(float64(o.Requests)/o.Rate) * time.Second).Round(time.Second))
	f.failed = 0
	o.ProgressInterval, o.OnProgress = 20*time.Millisecond, f.watch
	breaking, done := context.WithCancel(ctx)
	loading, enough := context.WithCancel(ctx)
	defer enough()
	ended := make(chan error, 1)
	go func() {
		err := f.breakThings(breaking, next)
		if err != nil || f.quick {
			enough()
		}
		ended <- err
	}()
	r, err := loadgen.Run(loading, o)
	done()
	if err = errors.Join(err, <-ended); err == nil {
		err = context.Cause(ctx)
	}
	return r, err
}

// repeated returns faults one after the other, again and again; in a quick run once.
func (d *driver) repeated(kinds ...func(context.Context) error) func() func(context.Context) error {
	i := -1
	return func() func(context.Context) error {
		if i++; d.quick && i == len(kinds) {
			return nil
		}
		return kinds[i%len(kinds)]
	}
}

// watch notes when requests fail.
func (f *faulty) watch(p loadgen.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.Warmup {
		return
	}
	if p.Failed > f.failed {
		f.failures = append(f.failures, failure{time.Now(), p.Failed - f.failed})
	}
	f.failed = p.Failed
}

// breakThings breaks one thing after the other until ctx ends or next returns nil, and puts it right again.
func (f *faulty) breakThings(ctx context.Context, next func() func(context.Context) error) error {
	for {
		kind := next()
		if pause(ctx, f.shorter(faultEvery)) != nil || kind == nil {
			return nil
		}
		if err := kind(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// shorter is a time, or a tenth of it in a quick run.
func (d *driver) shorter(t time.Duration) time.Duration {
	if d.quick {
		return t / 10
	}
	return t
}

func (f *faulty) note(kind, note string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fault{kind, time.Now(), note})
	fmt.Fprintf(f.out, "%s %s %s\n", time.Now().Format("15:04:05.000"), kind, note)
}

// awaitCollecting returns a replica that collects, if one does so soon, and how it was last. Two times of three it is asked to: kills and stops
// take turns.
func (f *faulty) awaitCollecting(ctx context.Context) (i int, state string) {
	i = rand.IntN(len(f.sys.replicas))
	if f.awaited++; f.awaited%3 != 0 {
		var asked sync.WaitGroup
		defer asked.Wait()
		asking, end := context.WithCancel(ctx)
		defer end()
		asked.Go(func() { f.sys.replicas[i].collect(asking) })
	}
	for end := time.Now().Add(awaitGCFor); state != holding && time.Now().Before(end) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if s, err := f.sys.replicas[i].stats(ctx); err == nil {
			state = s.gate().State
		}
	}
	return i, state
}

// killReplica kills a replica, while it collects if it does so soon, and starts it again.
func (f *faulty) killReplica(ctx context.Context) error {
	i, state := f.awaitCollecting(ctx)
	r := f.sys.replicas[i]
	f.note(replicaKilled, fmt.Sprint(i)+which+state)
	r.Kill()
	time.Sleep(time.Second)
	return f.startAgain(ctx, i)
}

// restartReplica ends a replica as a rollout does, and starts it again.
func (f *faulty) restartReplica(ctx context.Context) error {
	i := rand.IntN(len(f.sys.replicas))
	f.note("replica restarted", fmt.Sprint(i))
	f.sys.replicas[i].stop()
	return f.startAgain(ctx, i)
}

// startAgain starts a replica that has ended.
func (f *faulty) startAgain(ctx context.Context, i int) error {
	again, err := f.startReplica(ctx, spec{mode: f.mode, addr: f.sys.replicas[i].addr, core: i % f.cores, args: f.work, place: f.place(i, len(f.sys.replicas))})
	if err != nil {
		return err
	}
	f.sys.replicas[i] = again
	f.note("replica started", fmt.Sprint(i))
	return nil
}

// stallReplica stops a replica, while it has the turn if it does so soon, and lets it go on.
func (f *faulty) stallReplica(ctx context.Context) error {
	i, state := f.awaitCollecting(ctx)
	return f.stall(ctx, "replica", fmt.Sprint(i)+which+state, f.sys.replicas[i].Child)
}

// stall stops a process and those that it has started, and lets them go on.
func (f *faulty) stall(ctx context.Context, what, note string, c *child.Child) error {
	f.note(what+" stopped", note)
	if err := syscall.Kill(-c.Pid(), syscall.SIGSTOP); err != nil { // it leads a group
		return err
	}
	_ = pause(ctx, f.shorter(stoppedFor)) // also at the end it goes on
	f.note(what+" goes on", "")
	return syscall.Kill(-c.Pid(), syscall.SIGCONT)
}

func (f *faulty) reload(context.Context) error {
	f.note("HAProxy reloaded", "")
	return f.sys.front.reload()
}

func (f *faulty) killEtcd(ctx context.Context) error {
	f.note("etcd killed", "")
	f.stopEtcd()
	_ = pause(ctx, etcdDownFor)
	return f.startEtcd(ctx)
}

func (f *faulty) stallEtcd(ctx context.Context) error { return f.stall(ctx, "etcd", "", f.etcd) }

// startEtcd starts etcd and returns when it answers.
func (f *faulty) startEtcd(ctx context.Context) error {
	peer, err := freeAddr()
	if err != nil {
		return err
	}
	url := "http://" + f.driver.etcd
	f.etcd, err = child.Start(ctx, child.Options{Args: []string{
		"etcd", "--data-dir", filepath.Join(f.dir, "etcd"), "--listen-client-urls", url,
		"--advertise-client-urls", url, "--listen-peer-urls", "http://" + peer, "--logger", "zap", "--log-level", "error",
	}})
	if err != nil {
		return fmt.Errorf("%w; install etcd, for instance: sudo apt-get install etcd-server", err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url + "/health")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	f.stopEtcd()
	return fmt.Errorf("etcd does not answer at %s", url)
}

func (f *faulty) stopEtcd() {
	if f.etcd != nil {
		f.etcd.Kill()
		f.etcd = nil
	}
}

const (
	replicaKilled  = "replica killed" // is the fault that takes requests with it
	replicaStopped = "replica stopped"

	// which stands between a replica's number and its state as it was broken; one that collected had the turn.
	which, holding = ", which was ", "collecting"
)

var killedKey = "failed within " + killedFor.String() + " of a kill"

// faultFigures has what failed besides the requests that a killed process took with it. Statuses have no time: whatever
// is no 200 counts as failed.
func (d *driver) faultFigures(what string, r *loadgen.Result, killed int64) {
	d.set.AtMost(fmt.Sprintf("failed of %d requests%s under faults", r.Requests(), what), []float64{float64(r.Failed - killed + notOK(r))}, 0, "")
}

// holderFigure has how often it was the turn's holder that was killed or stopped, where replicas were.
func (d *driver) holderFigure(what string, faults []fault) {
	n, broken := 0, false
	for _, x := range faults {
		if x.Kind == replicaKilled || x.Kind == replicaStopped {
			broken = true
			if strings.HasSuffix(x.Note, which+holding) {
				n++
			}
		}
	}
	if broken {
		d.set.AtLeast("times that a fault hit the turn's holder"+what, []float64{float64(n)}, 1, "")
	}
}

// report counts the failures by cause.
func (f *faulty) report(r *loadgen.Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	killed := int64(0)
	for _, x := range f.failures {
		for _, y := range f.faults {
			if after := x.At.Sub(y.At); y.Kind == replicaKilled && after >= 0 && after <= killedFor {
				killed += x.N
				break
			}
		}
	}
	for key, x := range map[string]any{"faults": f.faults, "failures": f.failures, "load": r, killedKey: killed} {
		f.set.Raw[f.name+key] = x
	}
	fmt.Fprintf(f.out, "%d requests, p50 %s, p99 %s, p99.9 %s, max %s\n", r.Requests(), short(r.Latency.Quantile(.5)),
		short(r.Latency.Quantile(.99)), short(r.Latency.Quantile(.999)), short(r.Latency.Max()))
	for _, x := range r.Failures {
		fmt.Fprintf(f.out, "failed: %d %s, such as %s\n", x.Count, x.Class, x.Example)
	}
	for status, n := range r.Statuses {
		fmt.Fprintf(f.out, "status %d: %d\n", status, n)
	}
	fmt.Fprintf(f.out, "failed within %v of the kill of a replica: %d\n", killedFor, killed)
	f.faultFigures(f.what, r, killed)
	f.holderFigure(f.what, f.faults)
}
