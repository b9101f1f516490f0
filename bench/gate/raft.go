//go:build linux

package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/examples/raftkv/kv"
	"evenkeel.dev/gcgate"
)

// The gate does not get what it asks for in these.
const (
	stallsWay  = "gated, one stalls"
	patientWay = "gated, one stalls, no limit"
	takenWay   = "gated, no turn"
)

const withoutTurn = "without a turn"

const (
	raftRate   = 800
	mostWrites = 1000 // at once: loadgen's connections

	stallFor, stallPause = 350 * time.Millisecond, 550 * time.Millisecond

	raftTimeout = 30 * time.Second
)

// raftGroup has three members. Each write reaches the heaps of all.
func raftGroup() group {
	member := func(name string, more ...string) way {
		return way{
			name: name, program: "examples/raftkv", window: 150_000, gated: len(more) > 0,
			args: func(s *system, i int) []string {
				return append([]string{"-id", strconv.Itoa(i + 1), "-members", strings.Join(s.urls(), ",")}, more...)
			},
			dial: func(s *system) (caller, error) { return newWriters(s), nil },
		}
	}
	leader := member(stock) // with all of the heap
	leader.leads = true
	args := leader.args
	leader.args = func(s *system, i int) []string {
		if i == 0 {
			return args(s, i)
		}
		return append(args(s, i), "-window", "64")
	}
	stalled, patient := member(stallsWay, "-gate"), member(patientWay, "-gate", "-transfer-timeout", "10s") // Raft's
	stalled.stalls, patient.stalls = true, true
	claims := []harness.Claim{
		ratio("writes", stock, "p99.9", gated, harness.AtLeast(5)),
		ratio("writes", stock, "max", gated, harness.AtLeast(3)),
		ratio("writes", takenWay, "p99.9", stock, harness.AtMost(1)),
		{Load: "writes", Way: stallsWay, Figure: "max", Target: harness.AtMost(25), Unit: " ms"},
		{Load: "writes", Way: gated, Figure: "retries beyond transfers", Total: true, Target: harness.AtMost(0)},
		{Load: "writes", Way: gated, Figure: "transfers beyond a third", Total: true, Target: harness.AtMost(0)},
		{Load: "writes", Way: takenWay, Figure: withoutTurn, Total: true, Target: harness.AtLeast(1)},
	}
	for _, way := range []string{gated, stallsWay, takenWay} {
		claims = append(claims, harness.None(way, "writes", "failed"), harness.None(way, "writes", "lost"))
	}
	return group{
		Case: harness.Case{
			Name:   "gate/raft",
			What:   "800 writes/s to three members of examples/raftkv: the leader hands over to collect",
			Warmup: 6 * time.Second, Loads: []string{"writes"}, Claims: claims,
			Figures: []string{"max", "lost", "transfers", withoutTurn},
		},
		replicas: 3,
		ways: []way{
			controlOf(member(control)), leader, member(gated, "-gate"), stalled, patient,
			member(takenWay, "-gate", "-turn-taken"),
		},
		loads: map[string]load{"writes": {rate: raftRate}},
	}
}

// The leader may have handed over for it.
func (st *stats) collects() bool { return st.Gate != nil && st.Gate.State >= gcgate.StateAnnouncing }

// openLed starts a group whose first member leads.
func openLed(ctx context.Context, r *harness.Run, w way, n int) (*system, error) {
	for range 20 {
		s, err := open(ctx, r, w, n)
		if err != nil {
			return nil, err
		}
		leader, err := awaitLeader(ctx, s.replicas)
		if err == nil && leader == 1 {
			return s, nil
		}
		s.close()
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the first member did not become the leader in 20 starts")
}

// awaitLeader returns the leader's number, from 1.
func awaitLeader(ctx context.Context, members []*replica) (leader int, err error) {
	err = members[0].Until(ctx, "have a leader", func(ctx context.Context) bool {
		st, err := members[0].stats(ctx)
		leader = st.Leader
		return err == nil && leader > 0
	})
	return leader, err
}

func stallFollowers(ctx context.Context, members []*replica) {
	for ctx.Err() == nil {
		leader, err := awaitLeader(ctx, members)
		if err != nil {
			return
		}
		f := members[leader%len(members)]
		if f.Signal(syscall.SIGSTOP) != nil {
			return
		}
		_ = harness.Wait(ctx, stallFor) // it has to continue in any case
		if f.Signal(syscall.SIGCONT) != nil {
			return
		}
		_ = harness.Wait(ctx, stallPause)
	}
}

type writers struct {
	members []*replica
	http    *http.Client
	group   *kv.Group
	clients [mostWrites]writer
}

// writer is a client, which its worker owns.
type writer struct {
	client kv.Client
	n      int          // writes
	last   atomic.Int64 // written value; 0: not known
}

func newWriters(s *system) *writers {
	w := &writers{
		members: slices.Clone(s.replicas),
		http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: mostWrites}},
	}
	w.group = &kv.Group{Members: s.urls(), HTTP: w.http}
	for i := range w.clients {
		w.clients[i].client = kv.Client{Group: w.group, ID: "writer" + strconv.Itoa(i)}
	}
	return w
}

func (w *writers) call(ctx context.Context, worker int) error {
	c := &w.clients[worker]
	c.n++
	c.last.Store(0)
	err := c.client.Put(ctx, "key"+strconv.Itoa(worker), strconv.Itoa(c.n))
	if err == nil {
		c.last.Store(int64(c.n))
	}
	return err
}

// after counts the writes that a member does not have.
func (w *writers) after(ctx context.Context, r *harness.Run) error {
	lost := 0
	for i := range w.clients {
		want := w.clients[i].last.Load()
		for _, m := range w.members {
			if want > 0 && !has(ctx, fmt.Sprintf("http://%s/kv/key%d", m.addr, i), strconv.FormatInt(want, 10)) {
				lost++
			}
		}
	}
	var transfers int64
	var collections, without uint64
	for _, m := range w.members {
		st, err := m.atRest(ctx)
		if err != nil {
			return err
		}
		transfers += st.Member.Transfers
		if st.Gate != nil {
			without += st.Gate.WithoutTurn
			for _, n := range st.Gate.Collections {
				collections += n
			}
		}
	}
	r.Set("lost", float64(lost))
	r.Set("transfers", float64(transfers))
	r.Set(withoutTurn, float64(without))
	r.Set("retries beyond transfers", float64(int64(w.group.Retried.Load())-transfers))
	r.Set("transfers beyond a third", (3*float64(transfers)-float64(collections))/3)
	return ctx.Err()
}

func (r *replica) atRest(ctx context.Context) (st stats, err error) {
	for end := time.Now().Add(raftTimeout); ; {
		if st, err = r.stats(ctx); err != nil || !st.collects() || time.Now().After(end) {
			return st, err
		}
		if err := harness.Wait(ctx, 20*time.Millisecond); err != nil {
			return st, err
		}
	}
}

// has reports whether a member gets a value in time.
func has(ctx context.Context, url, want string) bool {
	ctx, cancel := context.WithTimeout(ctx, raftTimeout)
	defer cancel()
	for {
		if got, err := harness.Get(ctx, url); err == nil && string(got) == want {
			return true
		}
		if harness.Wait(ctx, 20*time.Millisecond) != nil {
			return false
		}
	}
}

func (w *writers) close() { w.http.CloseIdleConnections() }
