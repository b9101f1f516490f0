package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"evenkeel.dev/loadgen"
)

// What the raw results of these systems begin with, and how they are called.
const (
	haproxyFaults, behindHAProxy = "haproxy ", " behind a HAProxy that fails"
	envoyFaults, behindEnvoy     = "envoy ", " behind Envoy"
	raftFaults, toAGroup         = "raft ", " to a Raft group"

	lostKey  = "lost writes"
	againKey = "sent again"
)

// Times of a client that sends again.
const (
	againPause = 20 * time.Millisecond
	againFor   = 15 * time.Second
)

// failing is a balancer that fails.
type failing struct {
	name      string // for the reader
	key, what string // of [faulty]
	mode      mode
}

// The balancers that fail. There is one of each, as most have: whatever is killed without warning takes the connections with it on which it was to
// answer, so with two of them a client would have to send again as well.
var (
	killedEnvoy   = failing{name: "Envoy", key: envoyFaults, what: behindEnvoy, mode: subjectMode(mode{name: "gated", front: envoyPolls}, true)}
	killedHAProxy = failing{name: "HAProxy", key: haproxyFaults, what: behindHAProxy, mode: modeNamed(modes, "gated")}
)

// faultsFront fails replicas and the balancer before them. The client sends again what nobody answered.
func (d *driver) faultsFront(ctx context.Context, n int, l load, b failing) error {
	f := &faulty{driver: d, name: b.key, what: b.what, mode: b.mode}
	var err error
	if f.sys, err = d.open(ctx, f.mode, 2, nil); err != nil {
		return err
	}
	defer func() { f.sys.close() }()
	again := &sendsAgain{base: &http.Transport{MaxIdleConnsPerHost: mostWrites}}
	defer again.base.CloseIdleConnections()
	o := f.sys.options(l, 0, d.warmup)
	o.Requests, o.Transport = n, again
	kill := func(ctx context.Context) (err error) { // and start it again
		f.note(b.name+" killed", "")
		f.sys.front.Kill()
		f.sys.front, err = f.startFront(context.WithoutCancel(ctx), f.mode.front) // the last requests go through it, too
		return err
	}
	stall := func(ctx context.Context) error { return f.stall(ctx, b.name, "", f.sys.front.Child) }
	r, err := f.load(ctx, o, f.repeated(f.killReplica, kill, f.stallReplica, stall, f.restartReplica))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "sent again: %d\n", again.n.Load())
	d.set.Raw[b.key+againKey] = again.n.Load()
	f.report(r)
	return nil
}

// sendsAgain is a transport that sends a GET again which nobody answered, or a balancer in the place of the service, for a
// while. It implements http.RoundTripper.
type sendsAgain struct {
	base *http.Transport
	n    atomic.Int64 // requests that were
}

func (t *sendsAgain) RoundTrip(req *http.Request) (*http.Response, error) {
	for end := time.Now().Add(againFor); ; {
		resp, err := t.base.RoundTrip(req)
		unanswered := err != nil || resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusGatewayTimeout
		if !unanswered || !time.Now().Before(end) {
			return resp, err
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // the next one uses the connection
			resp.Body.Close()
		}
		t.n.Add(1)
		if perr := pause(req.Context(), againPause); perr != nil {
			return nil, perr
		}
	}
}

// faultsRaft stops leaders and followers, and kills leaders. A member that has ended does not come back, so each group sees one kill.
func (d *driver) faultsRaft(ctx context.Context, n int) error {
	f := &faulty{driver: d, name: raftFaults, what: toAGroup, mode: modeNamed(raftTeam.modes, "gated")}
	each := int(raftRate * 6 * d.shorter(faultEvery).Seconds()) // two stops of as long as the pause before, a kill, and what comes then
	sum, lost := &loadgen.Result{Statuses: map[int]int64{}}, 0
	groups := max(1, n/each)
	if d.quick {
		groups = 1
	}
	for range groups {
		r, l, err := f.group(ctx, max(each, (n+groups-1)/groups))
		if err != nil {
			return err
		}
		add(sum, r)
		lost += l
	}
	d.set.Raw[raftFaults+lostKey] = lost
	d.lostFigure(lost)
	f.report(sum)
	return nil
}

func (d *driver) lostFigure(lost int) {
	d.set.AtMost("raft: lost writes under faults", []float64{float64(lost)}, 0, "")
}

// group has n writes sent to a group that loses its leader.
func (f *faulty) group(ctx context.Context, n int) (r *loadgen.Result, lost int, err error) {
	if f.sys, err = f.open(ctx, f.mode, raftTeam.replicas, nil); err != nil {
		return nil, 0, err
	}
	defer f.sys.close()
	if _, err := awaitLeader(ctx, f.sys.replicas); err != nil {
		return nil, 0, err
	}
	kinds := []func(context.Context) error{f.stallLeader, f.stallFollower, f.killLeader}
	o := f.sys.options(load{rate: raftRate}, 0, f.warmup)
	o.Requests = n
	if r, err = f.load(ctx, o, func() (kind func(context.Context) error) {
		if len(kinds) > 0 {
			kind, kinds = kinds[0], kinds[1:]
		}
		return kind
	}); err != nil {
		return r, 0, err
	}
	var s sample
	err = f.sys.caller.after(ctx, &s)
	return r, s.Raft.Lost, err
}

// stallLeader stops the leader: the others choose another one.
func (f *faulty) stallLeader(ctx context.Context) error { return f.stallMember(ctx, "leader", 0) }

func (f *faulty) stallFollower(ctx context.Context) error { return f.stallMember(ctx, "follower", 1) }

// stallMember stops the member that is so many after the leader.
func (f *faulty) stallMember(ctx context.Context, what string, after int) error {
	leader, err := awaitLeader(ctx, f.sys.replicas)
	if err != nil {
		return err
	}
	i := (leader - 1 + after) % len(f.sys.replicas)
	return f.stall(ctx, what, fmt.Sprintf("member %d", i+1), f.sys.replicas[i].Child)
}

// killLeader kills the leader, and asks it nothing any more.
func (f *faulty) killLeader(ctx context.Context) error {
	leader, err := awaitLeader(ctx, f.sys.replicas)
	if err != nil {
		return err
	}
	f.note("leader killed", fmt.Sprintf("member %d", leader))
	f.sys.replicas[leader-1].Kill()
	f.sys.caller.(*writers).without(leader - 1)
	return nil
}

// without leaves a member out that has ended: nobody asks it what it has. No call of after runs meanwhile.
func (w *writers) without(i int) {
	w.members = slices.Delete(slices.Clone(w.members), i, i+1)
	w.urls = slices.Delete(slices.Clone(w.urls), i, i+1)
}
