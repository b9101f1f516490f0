//go:build linux

package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/gcgate"
)

// Times of the faults.
const (
	faultEvery   = 5 * time.Second
	downFor      = 2 * time.Second // of etcd that was killed
	stoppedFor   = 5 * time.Second // by SIGSTOP
	awaitCollect = 3 * time.Second // the longest wait for a replica that collects

	resendPause = 20 * time.Millisecond
	resendFor   = 15 * time.Second
)

// fault breaks one thing, and puts it right again.
type fault func(f *faulty, ctx context.Context) error

// faultyWays are gated systems in which things fail. There is one balancer, which takes the
// connections with it when it is killed. The client sends again then, as it would with two of them.
var faultyWays = []struct {
	way
	replicas int
	rate     float64
	resends  bool
	etcd     bool // for turns
	faults   []fault
}{
	{
		way:      way{name: "turns by etcd", front: haproxy, window: messages, gated: true},
		replicas: 2, rate: 1000, etcd: true,
		faults: []fault{
			(*faulty).killReplica, (*faulty).reloadFront, (*faulty).killEtcd, (*faulty).stopReplica, (*faulty).stopEtcd,
			(*faulty).restartReplica,
		},
	},
	{
		way:      way{name: "HAProxy fails", front: haproxy, window: messages, gated: true, args: drainByAPI},
		replicas: 2, rate: 1000, resends: true, faults: frontFaults,
	},
	{way: drained("Envoy fails", envoy, true), replicas: 2, rate: 1000, resends: true, faults: frontFaults},
	{
		way:      raftGroup().way(gated),
		replicas: 3, rate: raftRate,
		faults: []fault{(*faulty).stopLeader, (*faulty).stopFollower, (*faulty).killLeader},
	},
}

var frontFaults = []fault{
	(*faulty).killReplica, (*faulty).killFront, (*faulty).stopReplica, (*faulty).stopFront, (*faulty).restartReplica,
}

var full = harness.TestFlags()

// TestFaults fails things under load, for a moment or in full (go test -timeout 1h ./gate -run
// Faults -full).
func TestFaults(t *testing.T) { full.Run(t, faultsCase()) }

// faultsCase fails each thing once in a run.
func faultsCase() harness.Case {
	c := harness.Case{
		Name:  "gate/faults",
		What:  "replicas, etcd, balancers and Raft leaders are killed, stopped and restarted under load",
		Needs: "HAProxy, etcd, Envoy (.ci/setup envoy)", Rounds: 4, Length: 90 * time.Second, Warmup: shortWarmup,
		Run: runFaults,
	}
	for i := range faultyWays {
		w := &faultyWays[i]
		if w.dial != nil {
			w.name = "Raft"
			c.Claims = append(c.Claims, harness.None(w.name, "", "lost"))
		} else {
			c.Claims = append(c.Claims, harness.Claim{
				Way: w.name, Figure: holders, Total: true,
				Target: harness.AtLeast(1),
			})
		}
		c.Ways = append(c.Ways, w.name)
		c.Claims = append(c.Claims, harness.None(w.name, "", "failed"))
	}
	return c
}

// holders is how often a fault hit a replica that had the turn.
const holders = "holders of the turn hit"

// faulty is a system in which things fail, one after the other.
type faulty struct {
	*system
	hit int // holders of the turn

	store    *harness.Child // etcd; nil: none
	etcd     string         // its address
	etcdData string         // directory
}

func runFaults(ctx context.Context, r *harness.Run) error {
	w := faultyWays[slices.Index(faultsCase().Ways, r.Way)]
	f := &faulty{}
	if w.etcd {
		if err := f.openEtcd(ctx, r); err != nil {
			return err
		}
		defer func() { f.store.Kill() }()
		w.args = func(s *system, i int) []string {
			return []string{"-gate=drain", "-haproxy", s.server(i), "-etcd", f.etcd, "-group", "bench"}
		}
	}
	s, err := open(ctx, r, w.way, w.replicas)
	if err != nil {
		return err
	}
	defer s.close()
	f.system = s
	o := s.options(w.rate)
	again := &resends{base: &http.Transport{MaxIdleConnsPerHost: mostWrites}}
	defer again.base.CloseIdleConnections()
	if w.resends {
		o.Transport = again
	}
	breaking, end := context.WithCancel(ctx)
	defer end()
	broken := make(chan error, 1)
	o.Duration = harness.Unless(r, r.Length, 8*time.Second)
	o.OnMeasure = func() { go func() { broken <- f.breakAll(breaking, w.faults) }() }
	_, merr := r.Measure(ctx, o)
	end()
	if err := errors.Join(merr, <-broken); err != nil {
		return err
	}
	r.Set(holders, float64(f.hit))
	r.Set("sent again", float64(again.n.Load()))
	if s.caller != nil {
		return s.caller.after(ctx, r)
	}
	return nil
}

// breakAll breaks one thing after the other. It is an error if the load ends before that.
func (f *faulty) breakAll(ctx context.Context, faults []fault) error {
	for i, fails := range faults {
		if f.wait(ctx, faultEvery) != nil {
			return fmt.Errorf("only %d of %d faults; load for longer by -length", i, len(faults))
		}
		if err := fails(f, ctx); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return nil
}

// wait pauses, in a quick run for a fiftieth of the time.
func (f *faulty) wait(ctx context.Context, d time.Duration) error {
	return harness.Wait(ctx, harness.Unless(f.Run, d, d/50))
}

// awaitCollecting asks a replica to collect, and returns it when it does, or after a time.
func (f *faulty) awaitCollecting(ctx context.Context) (i int) {
	i = rand.IntN(len(f.replicas))
	asking, end := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		f.replicas[i].collect(asking)
	}()
	defer func() { end(); <-asked }()
	longest := harness.Unless(f.Run, awaitCollect, awaitCollect/50)
	for begun := time.Now(); time.Since(begun) < longest; {
		st, err := f.replicas[i].stats(ctx)
		if err == nil && st.Gate != nil && st.Gate.State == gcgate.StateCollecting {
			f.hit++
			break
		}
		if harness.Wait(ctx, 2*time.Millisecond) != nil {
			break
		}
	}
	return i
}

// killReplica kills a replica while it collects, and starts it again.
func (f *faulty) killReplica(ctx context.Context) error {
	i := f.awaitCollecting(ctx)
	f.replicas[i].Kill()
	_ = f.wait(ctx, time.Second)
	return f.startAgain(ctx, i)
}

// restartReplica ends a replica as a rollout does, and starts it again.
func (f *faulty) restartReplica(ctx context.Context) error {
	i := rand.IntN(len(f.replicas))
	if err := f.replicas[i].Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-f.replicas[i].Done():
	case <-time.After(20 * time.Second):
		return errors.New("the replica does not end")
	}
	return f.startAgain(ctx, i)
}

func (f *faulty) startAgain(ctx context.Context, i int) error {
	r, err := f.startReplica(context.WithoutCancel(ctx), i)
	if err == nil {
		f.replicas[i] = r
	}
	return err
}

func (f *faulty) stopReplica(ctx context.Context) error {
	return f.stop(ctx, f.replicas[f.awaitCollecting(ctx)].Child)
}

// stop stops a process and those that it has started, and lets them go on.
func (f *faulty) stop(ctx context.Context, c *harness.Child) error {
	if err := syscall.Kill(-c.Pid(), syscall.SIGSTOP); err != nil { // it leads a group
		return err
	}
	_ = f.wait(ctx, stoppedFor) // also at the end it goes on
	return syscall.Kill(-c.Pid(), syscall.SIGCONT)
}

// reloadFront has HAProxy's master start a new worker.
func (f *faulty) reloadFront(context.Context) error { return f.front.Signal(syscall.SIGUSR2) }

func (f *faulty) stopFront(ctx context.Context) error { return f.stop(ctx, f.front) }

func (f *faulty) killFront(ctx context.Context) (err error) {
	f.front.Kill()
	f.front, err = f.startFront(context.WithoutCancel(ctx)) // the last requests go through it, too
	return err
}

func (f *faulty) stopEtcd(ctx context.Context) error { return f.stop(ctx, f.store) }

func (f *faulty) killEtcd(ctx context.Context) (err error) {
	f.store.Kill()
	_ = f.wait(ctx, downFor)
	f.store, err = f.startEtcd(context.WithoutCancel(ctx), f.Run)
	return err
}

// openEtcd starts etcd before the replicas.
func (f *faulty) openEtcd(ctx context.Context, r *harness.Run) (err error) {
	if f.etcdData, err = r.Dir(); err != nil {
		return err
	}
	if f.etcd, err = harness.FreeAddr(); err != nil {
		return err
	}
	f.store, err = f.startEtcd(ctx, r)
	return err
}

// startEtcd starts etcd and returns when it listens.
func (f *faulty) startEtcd(ctx context.Context, r *harness.Run) (*harness.Child, error) {
	program, err := installed("sudo apt-get install etcd-server", "etcd")
	if err != nil {
		return nil, err
	}
	peer, err := harness.FreeAddr()
	if err != nil {
		return nil, err
	}
	url := "http://" + f.etcd
	c, err := r.Start(ctx, harness.AnyCore, nil, program, "--data-dir", filepath.Join(f.etcdData, "etcd"),
		"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", "http://"+peer,
		"--logger", "zap", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	if err := c.Listens(ctx, f.etcd); err != nil {
		c.Stop()
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return c, nil
}

// member returns the member that is so many after the leader.
func (f *faulty) member(ctx context.Context, after int) (int, error) {
	leader, err := awaitLeader(ctx, f.replicas)
	return (leader - 1 + after + len(f.replicas)) % len(f.replicas), err
}

func (f *faulty) stopMember(ctx context.Context, after int) error {
	i, err := f.member(ctx, after)
	if err != nil {
		return err
	}
	return f.stop(ctx, f.replicas[i].Child)
}

// stopLeader stops the leader: the others choose another one.
func (f *faulty) stopLeader(ctx context.Context) error { return f.stopMember(ctx, 0) }

func (f *faulty) stopFollower(ctx context.Context) error { return f.stopMember(ctx, 1) }

// killLeader kills the leader. It does not come back, because nothing is on disk.
func (f *faulty) killLeader(ctx context.Context) error {
	i, err := f.member(ctx, 0)
	if err != nil {
		return err
	}
	f.replicas[i].Kill()
	w := f.caller.(*writers)
	w.members = slices.Delete(w.members, i, i+1) // it is not asked what it has
	return nil
}

// resends is a transport that sends a GET again which is not answered, or answered by a balancer in
// the place of the service, for a while. It implements http.RoundTripper.
type resends struct {
	base *http.Transport
	n    atomic.Int64 // requests that were sent again
}

func (t *resends) RoundTrip(req *http.Request) (*http.Response, error) {
	byBalancer := []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	for end := time.Now().Add(resendFor); ; {
		resp, err := t.base.RoundTrip(req)
		answered := err == nil && !slices.Contains(byBalancer, resp.StatusCode)
		if answered || time.Now().After(end) {
			return resp, err
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // the next one uses the connection
			resp.Body.Close()
		}
		t.n.Add(1)
		if err := harness.Wait(req.Context(), resendPause); err != nil {
			return nil, err
		}
	}
}
