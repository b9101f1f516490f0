package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/examples/raftkv/kv"
	"evenkeel.dev/gcgate"
)

// How the Raft group is loaded.
const (
	raftRate   = 800 // writes a second
	raftWindow = 150_000
	quickRaft  = 10_000            // in a quick run
	raftLive   = raftWindow * 1024 // bytes of a member that are alive
	mostWrites = 1000              // at once: loadgen's connections

	stallFor, stallPause = 350 * time.Millisecond, 550 * time.Millisecond

	leaderTries   = 20               // starts of a group until its first member leads
	leaderTimeout = 30 * time.Second // and the wait for a leader
	readTimeout   = 20 * time.Second // until all members have what was written

	// The longest write while a follower stalls: one of both suffices.
	mostStalled = 25     // ms
	ofPatient   = 1. / 4 // of where transfers have no bound

	patience = 10 * time.Second // raftgate's limit
)

// The modes that show what becomes of the group where the gates do not get what they ask for.
const (
	stallsMode  = "gated, one stalls"
	patientMode = "gated, one stalls, no bound"
	takenMode   = "gated, no turn"
)

// raftTeam is three members of a group; each write reaches the heap of each.
var raftTeam = team{
	replicas: 3,
	modes: []mode{
		raftMode(mode{name: "default", what: "the stock runtime; only the leader has a heap", leads: true}, func(p place) []string {
			if p.replica == 0 {
				return nil
			}
			return []string{"-window", "64"}
		}),
		raftMode(mode{name: "default, three heaps", rival: true, what: "the stock runtime"}, nil),
		raftMode(mode{name: "gated", what: "followers first, and the leader hands over"}, func(place) []string { return []string{"-gate"} }),
		raftMode(mode{name: stallsMode, what: "the same while a follower stands still 350 of 900 ms", stalls: true}, func(place) []string { return []string{"-gate"} }),
		raftMode(mode{name: patientMode, what: "the same, and a transfer is not given up before Raft itself does", stalls: true}, func(place) []string {
			return []string{"-gate", "-transfer-timeout", patience.String()}
		}),
		raftMode(mode{name: takenMode, what: "the same where the turn is never free"}, func(place) []string { return []string{"-gate", "-turn-taken"} }),
		floor(raftMode(mode{}, nil)),
	},
	loads: []load{{name: "raft", rate: raftRate}},
	targets: map[string][]target{"raft": {
		{"default", "gated", "p99.9", 5, true},
		{"default", "gated", "max", 3, true},
		{takenMode, "default", "p99.9", 1, false},
	}},
	counts: []count{{mode: "gated", load: "raft"}, {mode: stallsMode, load: "raft"}, {mode: takenMode, load: "raft"}},
	more:   (*driver).raftFigures,
}

// raftMode fills in a mode of raftkv.
func raftMode(m mode, args func(place) []string) mode {
	m.program, m.raft, m.work = "raftkv", true, []string{} // none of what msgpush does
	m.args = func(p place) []string {
		all := []string{"-id", strconv.Itoa(p.replica + 1), "-members", p.members, "-window", strconv.Itoa(p.window)}
		if args != nil {
			all = append(all, args(p)...)
		}
		return all
	}
	return m
}

// raftCounts are what came of a group's writes, since it began.
type raftCounts struct {
	Leader      int    `json:"leader"` // at the end, from 1; 0: nobody, in an election
	Transfers   uint64 `json:"transfers"`
	GivenUp     uint64 `json:"given_up"`
	KeptLeading uint64 `json:"kept_leading"`
	Collections uint64 `json:"collections"`  // of the gates
	WithoutTurn uint64 `json:"without_turn"` // of these
	Redirected  uint64 `json:"redirected"`   // writes that another member than the leader refused
	Retried     uint64 `json:"retried"`      // writes that were sent again since nobody knew what became of them
	Lost        int    `json:"lost"`         // values that a member does not have although they were written
}

// raftFigures adds what transfers of the leadership cost.
func (d *driver) raftFigures() {
	var all raftCounts
	for _, s := range d.good("gated", "raft") {
		if s.Raft != nil {
			all.Transfers += s.Raft.Transfers
			all.Collections += s.Raft.Collections
			all.Retried += s.Raft.Retried
			all.Lost += s.Raft.Lost
		}
	}
	if all.Collections > 0 {
		d.set.AtMost("raft: lost writes", []float64{float64(all.Lost)}, 0, "")
		d.set.AtMost("raft: retried writes, a transfer", []float64{float64(all.Retried) / float64(max(all.Transfers, 1))}, 1, "")
		d.set.AtMost("raft: transfers, a collection", []float64{float64(all.Transfers) / float64(all.Collections)}, 1./3, "")
	}
	lost := 0
	for _, s := range d.good(stallsMode, "raft") {
		if s.Raft != nil {
			lost += s.Raft.Lost
		}
	}
	if longest := d.column(stallsMode, "raft", "max"); len(longest) > 0 {
		if xs := figure.Ratios(longest, d.column(patientMode, "raft", "max")); len(xs) > 0 {
			d.set.AtMost("raft: longest write while a follower stalls, of that without a bound for transfers (this or its milliseconds)", xs, ofPatient, "x")
		}
		for i := range longest {
			longest[i] *= 1e3
		}
		d.set.AtMost("raft: longest write while a follower stalls", longest, mostStalled, " ms")
		d.set.AtMost("raft: lost writes while a follower stalls", []float64{float64(lost)}, 0, "")
	}
	if ss := d.good(takenMode, "raft"); len(ss) > 0 {
		lost, alone := 0, 0.
		for _, s := range ss {
			if s.Raft != nil {
				lost += s.Raft.Lost
				alone += float64(s.Raft.WithoutTurn)
			}
		}
		d.set.AtLeast("raft: collections without the turn, where it is never free", []float64{alone}, 1, "")
		d.set.AtMost("raft: lost writes where the turn is never free", []float64{float64(lost)}, 0, "")
	}
}

// raftStats are those of raftkv's that the driver reads.
type raftStats struct {
	Leader int
	Member struct{ Transfers, GivenUp, KeptLeading uint64 }
	Gate   *struct {
		State       gcgate.State
		Collections map[string]uint64
		WithoutTurn uint64
	}
}

// collects reports whether a collection is under way, for which the leadership may have gone already.
func (s *raftStats) collects() bool { return s.Gate != nil && s.Gate.State >= gcgate.StateAnnouncing }

// openLed starts a group whose first member leads.
func (d *driver) openLed(ctx context.Context, m mode, n int) (*system, error) {
	for range leaderTries {
		sys, err := d.open(ctx, m, n, nil)
		if err != nil {
			return nil, err
		}
		leader, err := awaitLeader(ctx, sys.replicas)
		if err == nil && leader == 1 {
			return sys, nil
		}
		sys.close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the first member did not become the leader in %d starts", leaderTries)
}

// awaitLeader returns the number of the member that leads, from 1.
func awaitLeader(ctx context.Context, members []*replica) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, leaderTimeout, errors.New("the members have no leader"))
	defer cancel()
	for {
		var s raftStats
		if err := members[0].tell(ctx, "/stats", &s); err == nil && s.Leader > 0 {
			return s.Leader, nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// stallFollowers stops a follower now and then until ctx ends, and lets it go on.
func stallFollowers(ctx context.Context, members []*replica) {
	for ctx.Err() == nil {
		leader, err := awaitLeader(ctx, members)
		if err != nil {
			return
		}
		f := members[leader%len(members)] // the next after the leader, whose number is from 1
		if f.Signal(syscall.SIGSTOP) != nil {
			return // it has ended, which the load shows
		}
		_ = pause(ctx, stallFor) // also at the end it goes on
		if f.Signal(syscall.SIGCONT) != nil {
			return
		}
		_ = pause(ctx, stallPause)
	}
}

// writers are the clients of a group, each with a key of its own.
type writers struct {
	members []*replica
	urls    []string
	http    *http.Transport
	group   *kv.Group
	clients [mostWrites]writer
}

// writer is a client. Its worker owns it.
type writer struct {
	client kv.Client
	n      int          // writes
	last   atomic.Int64 // the value that was written last; 0: none, or nobody knows
}

func newWriters(members []*replica, urls []string) *writers {
	w := &writers{members: members, urls: urls, http: &http.Transport{MaxIdleConnsPerHost: mostWrites}}
	w.group = &kv.Group{Members: urls, HTTP: &http.Client{Transport: w.http}}
	for i := range w.clients {
		w.clients[i].client = kv.Client{Group: w.group, ID: "writer" + strconv.Itoa(i)}
	}
	return w
}

// call implements caller.
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

// after implements caller: it reads all that was written from each member.
func (w *writers) after(ctx context.Context, s *sample) error {
	counts := &raftCounts{Redirected: w.group.Redirected.Load(), Retried: w.group.Retried.Load()}
	s.Raft = counts
	for i := range w.clients {
		if want := w.clients[i].last.Load(); want > 0 {
			for _, url := range w.urls {
				if !w.has(ctx, url+"/kv/key"+strconv.Itoa(i), strconv.FormatInt(want, 10)) {
					counts.Lost++
				}
			}
		}
	}
	for _, m := range w.members {
		st, err := statsAtRest(ctx, m)
		if err != nil {
			return err
		}
		counts.Leader = st.Leader
		counts.Transfers += st.Member.Transfers
		counts.GivenUp += st.Member.GivenUp
		counts.KeptLeading += st.Member.KeptLeading
		if st.Gate != nil {
			counts.WithoutTurn += st.Gate.WithoutTurn
			for _, n := range st.Gate.Collections {
				counts.Collections += n
			}
		}
	}
	return ctx.Err()
}

// statsAtRest returns a member's when it collects no more, or after readTimeout.
func statsAtRest(ctx context.Context, m *replica) (st raftStats, err error) {
	for end := time.Now().Add(readTimeout); ; {
		st = raftStats{}
		if err := m.tell(ctx, "/stats", &st); err != nil || !st.collects() || time.Now().After(end) {
			return st, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return st, err
		}
	}
}

// has reports whether a member answers with a value, at once or when it has caught up.
func (w *writers) has(ctx context.Context, url, want string) bool {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for {
		if got, err := w.read(ctx, url); err == nil && got == want {
			return true
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return false
		}
	}
}

func (w *writers) read(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := w.group.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func (w *writers) close() { w.http.CloseIdleConnections() }
