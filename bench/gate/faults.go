package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
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
	sys  *system
	mode mode

	mu       sync.Mutex // guards all below, and sys.replicas
	etcd     *child.Child
	faults   []fault
	failures []failure
	failed   int64
}

// faults sends n requests while replicas, etcd and HAProxy fail in turn.
func (d *driver) faults(ctx context.Context, n int, results string) error {
	l, err := d.calibrate(ctx, modeNamed(modes, "default"), 2, load{name: "moderate", share: .22})
	if err != nil {
		return err
	}
	f := &faulty{driver: d, mode: mode{name: "gated", front: haproxy, args: func(p place) []string {
		return []string{"-gate=drain", "-haproxy", p.server(), "-etcd", p.etcd, "-group", "bench"}
	}}}
	if err := f.startEtcd(ctx); err != nil {
		return err
	}
	defer f.stopEtcd()
	if f.sys, err = d.open(ctx, f.mode, 2, nil); err != nil {
		return err
	}
	defer f.sys.close()
	fmt.Fprintf(d.out, "%d requests at %.0f/s: some %v\n", n, l.rate, (time.Duration(float64(n)/l.rate) * time.Second).Round(time.Second))

	o := f.sys.options(l, 0, d.warmup)
	o.Requests, o.ProgressInterval, o.OnProgress = n, 20*time.Millisecond, f.watch
	breaking, done := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.breakThings(breaking) }()
	r, err := loadgen.Run(ctx, o)
	done()
	err = errors.Join(err, <-ended)
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return f.report(r, results)
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

// breakThings breaks one thing after the other until ctx ends, and puts it right again.
func (f *faulty) breakThings(ctx context.Context) error {
	every := faultEvery
	if f.quick {
		every /= 10
	}
	kinds := []func(context.Context) error{f.killReplica, f.reload, f.killEtcd, f.reload}
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		if err := kinds[i%len(kinds)](ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (f *faulty) note(kind, note string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fault{kind, time.Now(), note})
	fmt.Fprintf(f.out, "%s %s %s\n", time.Now().Format("15:04:05.000"), kind, note)
}

// killReplica kills a replica, while it collects if it does so soon, and starts it again.
func (f *faulty) killReplica(ctx context.Context) error {
	i := rand.IntN(len(f.sys.replicas))
	r := f.sys.replicas[i]
	state := ""
	for end := time.Now().Add(awaitGCFor); state != "collecting" && time.Now().Before(end) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if s, err := r.stats(ctx); err == nil {
			state = s.gate().State
		}
	}
	f.note("replica killed", fmt.Sprintf("%d, which was %s", i, state))
	r.kill()
	time.Sleep(time.Second)
	again, err := f.startReplica(ctx, spec{mode: f.mode, addr: r.addr, core: i % f.cores, args: f.work, place: place{replica: i, socket: f.socket, etcd: f.driver.etcd}})
	if err != nil {
		return err
	}
	f.sys.replicas[i] = again
	f.note("replica started", fmt.Sprint(i))
	return nil
}

func (f *faulty) reload(context.Context) error {
	f.note("HAProxy reloaded", "")
	return f.sys.front.reload()
}

func (f *faulty) killEtcd(ctx context.Context) error {
	f.note("etcd killed", "")
	f.stopEtcd()
	select {
	case <-ctx.Done():
	case <-time.After(etcdDownFor):
	}
	return f.startEtcd(ctx)
}

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

var killedKey = "failed within " + killedFor.String() + " of a kill"

// faultFigures has what failed besides the requests that a killed process took with it. Statuses have no time: whatever
// is no 200 counts as failed.
func (d *driver) faultFigures(r *loadgen.Result, killed int64) {
	d.set.AtMost(fmt.Sprintf("failed of %d requests under faults", r.Requests()), []float64{float64(r.Failed - killed + notOK(r))}, 0, "")
}

// report counts the failures by cause.
func (f *faulty) report(r *loadgen.Result, results string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	killed := int64(0)
	for _, x := range f.failures {
		for _, y := range f.faults {
			if after := x.At.Sub(y.At); y.Kind == "replica killed" && after >= 0 && after <= killedFor {
				killed += x.N
				break
			}
		}
	}
	f.set.Raw["faults"], f.set.Raw["failures"], f.set.Raw["load"] = f.faults, f.failures, r
	f.set.Raw[killedKey] = killed
	fmt.Fprintf(f.out, "%d requests, p50 %s, p99 %s, p99.9 %s, max %s\n", r.Requests(), short(r.Latency.Quantile(.5)),
		short(r.Latency.Quantile(.99)), short(r.Latency.Quantile(.999)), short(r.Latency.Max()))
	for _, x := range r.Failures {
		fmt.Fprintf(f.out, "failed: %d %s, such as %s\n", x.Count, x.Class, x.Example)
	}
	for status, n := range r.Statuses {
		fmt.Fprintf(f.out, "status %d: %d\n", status, n)
	}
	fmt.Fprintf(f.out, "failed within %v of the kill of a replica: %d\n", killedFor, killed)
	f.faultFigures(r, killed)
	if results == "" || f.quick {
		return nil
	}
	f.set.Benchmark = "gate-faults"
	return f.set.Save(results)
}
