package etcdraft_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/contrib/raftgate/etcdraft"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// patience ends what hangs.
const patience = 30 * time.Second

// cluster is nodes of the library, with channels between them.
type cluster struct {
	t     *testing.T
	nodes []*node // by id, from 1

	mu     sync.Mutex
	frozen map[uint64]bool              // guarded by mu
	held   map[uint64][]*raftpb.Message // for these; guarded by mu
	told   map[uint64]int               // MsgTimeoutNow for each; guarded by mu
	delay  time.Duration                // of a message; guarded by mu
}

type node struct {
	raft.Node
	id      uint64
	inbox   chan letter
	mu      sync.Mutex
	applied [][]byte // guarded by mu
}

type letter struct {
	*raftpb.Message
	due time.Time
}

func newCluster(t *testing.T, n int) *cluster { return newClusterOf(t, n, false) }

func newClusterOf(t *testing.T, n int, preVote bool) *cluster {
	c := &cluster{t: t, frozen: map[uint64]bool{}, held: map[uint64][]*raftpb.Message{}, told: map[uint64]int{}}
	var peers []uint64
	for i := range n {
		peers = append(peers, uint64(i)+1)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, id := range peers {
		s := raft.NewMemoryStorage()
		first := &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
			ConfState: &raftpb.ConfState{Voters: peers}, Index: new(uint64(1)), Term: new(uint64(1)),
		}}
		if err := s.ApplySnapshot(first); err != nil {
			t.Fatal(err)
		}
		nd := &node{id: id, inbox: make(chan letter, 4096)}
		nd.Node = raft.RestartNode(&raft.Config{
			ID: id, Storage: s, Applied: 1, ElectionTick: 10_000, HeartbeatTick: 10, MaxSizePerMsg: 1 << 20,
			MaxInflightMsgs: 256,
			Logger:          &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}, DisableProposalForwarding: true,
			PreVote: preVote, CheckQuorum: preVote,
		})
		c.nodes = append(c.nodes, nd)
		running.Go(func() { c.run(ctx, nd, s) })
		running.Go(func() { c.receive(ctx, nd) })
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
		for _, nd := range c.nodes {
			nd.Stop()
		}
	})
	if err := c.nodes[0].Campaign(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.await("the first one leads", func() bool { return c.nodes[0].Status().RaftState == raft.StateLeader })
	return c
}

// run is the loop that the library asks for. Its time is slow, so that no election comes between.
func (c *cluster) run(ctx context.Context, nd *node, s *raft.MemoryStorage) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			nd.Tick()
		case rd := <-nd.Ready():
			if err := s.Append(rd.Entries); err != nil {
				c.t.Error(err)
			}
			if !raft.IsEmptyHardState(rd.HardState) {
				if err := s.SetHardState(rd.HardState); err != nil {
					c.t.Error(err)
				}
			}
			for _, m := range rd.Messages {
				c.send(m)
			}
			for _, e := range rd.CommittedEntries {
				if len(e.GetData()) > 0 {
					nd.mu.Lock()
					nd.applied = append(nd.applied, e.GetData())
					nd.mu.Unlock()
				}
			}
			nd.Advance()
		}
	}
}

func (c *cluster) send(m *raftpb.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.GetType() == raftpb.MsgTimeoutNow {
		c.told[m.GetTo()]++
	}
	if c.frozen[m.GetTo()] {
		c.held[m.GetTo()] = append(c.held[m.GetTo()], m)
		return
	}
	c.deliver(m)
}

func (c *cluster) deliver(m *raftpb.Message) {
	select {
	case c.nodes[m.GetTo()-1].inbox <- letter{m, time.Now().Add(c.delay)}:
	default:
	}
}

func (c *cluster) receive(ctx context.Context, nd *node) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-nd.inbox:
			time.Sleep(time.Until(m.due))
			_ = nd.Step(ctx, m.Message)
		}
	}
}

func (c *cluster) await(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not so after %v: %s", patience, what)
		}
	}
}

// propose waits until all nodes that are not frozen have applied it.
func (c *cluster) propose(nd *node, text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := nd.Propose(ctx, []byte(text)); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	for _, other := range c.nodes {
		c.mu.Lock()
		frozen := c.frozen[other.id]
		c.mu.Unlock()
		c.await(text+" is applied", func() bool {
			other.mu.Lock()
			defer other.mu.Unlock()
			return frozen || slices.ContainsFunc(other.applied, func(b []byte) bool { return string(b) == text })
		})
	}
}

// freeze holds back messages to a node.
func (c *cluster) freeze(id uint64, frozen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen[id] = frozen
	if frozen {
		return
	}
	for _, m := range c.held[id] {
		c.deliver(m)
	}
	c.held[id] = nil
}

// slowDown makes a message take longer than mend waits.
func (c *cluster) slowDown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = 50 * time.Millisecond
}

// giveUp has a transfer given up. The successor was told, but is frozen.
func (c *cluster) giveUp(g raftgate.Raft, successor uint64) error {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- g.Transfer(ctx, etcdraft.ID(successor)) }()
	c.await("the successor was told", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.told[successor] > 0
	})
	cancel()
	return <-ended
}

func TestStatus(t *testing.T) {
	c := newCluster(t, 3)
	c.propose(c.nodes[0], "a")
	c.freeze(3, true)
	for i := range 5 {
		c.propose(c.nodes[0], fmt.Sprint("b", i))
	}
	g := etcdraft.New(c.nodes[0])
	c.await("the leader knows how far the second is", func() bool {
		st := g.Status()
		if st.ID != "1" || st.Leader != "1" || len(st.Voters) != 3 || st.Voters[2].Behind < 5 {
			t.Fatalf("status %+v", st)
		}
		return st.Voters[0].Behind == 0 && st.Voters[1].Behind == 0
	})
	if st := etcdraft.New(c.nodes[1]).Status(); st.ID != "2" || st.Leader != "1" {
		t.Errorf("a follower says %+v", st)
	}
	if etcdraft.ID(0) != "" || etcdraft.ID(255) != "ff" {
		t.Errorf("ids %q and %q", etcdraft.ID(0), etcdraft.ID(255))
	}
}

func TestTransfer(t *testing.T) {
	c := newCluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := etcdraft.New(c.nodes[0]).Transfer(ctx, "2"); err != nil {
		t.Fatal(err)
	}
	if c.nodes[0].Status().Lead != 2 {
		t.Error("the second one does not lead")
	}
	c.propose(c.nodes[1], "a")
	if err := etcdraft.New(c.nodes[0]).Transfer(ctx, "x"); err == nil {
		t.Error("the leadership went to nobody")
	}
}

// TestGivenUp has the successor stall when it is told. The leader takes proposals again, the other
// follower can lead, and no write is lost.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		c.propose(c.nodes[0], "a")
		g := etcdraft.New(c.nodes[0])
		c.await("all have everything", func() bool {
			return !slices.ContainsFunc(g.Status().Voters, func(v raftgate.Voter) bool { return v.Behind > 0 })
		})
		c.freeze(2, true)
		if err := c.giveUp(g, 2); err == nil || !strings.Contains(err.Error(), "given up") {
			t.Fatalf("error %v", err)
		}
		c.propose(c.nodes[0], "b") // the library itself would wait for minutes
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := g.Transfer(ctx, "3"); err != nil {
			t.Fatal(err)
		}
		c.freeze(2, false) // it campaigns for an old term
		c.propose(c.nodes[2], "c")
		for _, nd := range c.nodes {
			var got []string
			nd.mu.Lock()
			for _, b := range nd.applied {
				got = append(got, string(b))
			}
			nd.mu.Unlock()
			if !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Errorf("node %d has applied %v", nd.id, got)
			}
		}
		time.Sleep(5 * time.Second) // mend has ended
	})
}

// TestLateSuccessor has the successor campaign late, without the latest entries. It cannot win. The
// group has a leader long before an election timeout of minutes.
func TestLateSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		c.propose(c.nodes[0], "a")
		g := etcdraft.New(c.nodes[0])
		c.await("all have everything", func() bool {
			return !slices.ContainsFunc(g.Status().Voters, func(v raftgate.Voter) bool { return v.Behind > 0 })
		})
		term := c.nodes[0].Status().GetTerm()
		c.freeze(2, true)
		if err := c.giveUp(g, 2); err == nil {
			t.Fatal("the transfer took place")
		}
		c.propose(c.nodes[0], "b")
		c.freeze(2, false)
		c.await("the leader's term was ended, and it leads again", func() bool {
			s := c.nodes[0].Status()
			return s.GetTerm() > term && s.RaftState == raft.StateLeader
		})
		c.propose(c.nodes[0], "c")
		time.Sleep(5 * time.Second) // mend has ended
	})
}

// TestSlowNetwork is TestLateSuccessor with slow messages and two transfers. mend lets its election
// end.
func TestSlowNetwork(t *testing.T) {
	for _, preVote := range []bool{false, true} {
		for range 10 { // two looks at once are a race
			synctest.Test(t, func(t *testing.T) {
				c := newClusterOf(t, 3, preVote)
				c.propose(c.nodes[0], "a")
				g := etcdraft.New(c.nodes[0])
				term := c.nodes[0].Status().GetTerm()
				c.freeze(2, true)
				for range 2 {
					if err := c.giveUp(g, 2); err == nil {
						t.Fatal("the transfer took place")
					}
				}
				c.propose(c.nodes[0], "b")
				c.slowDown()
				c.freeze(2, false)
				time.Sleep(5 * time.Second) // mend has ended
				// The successor's term, and one election after it.
				if s := c.nodes[0].Status(); s.RaftState != raft.StateLeader || s.GetTerm() != term+2 {
					t.Errorf("PreVote %v: %v of term %d, want the leader of %d", preVote, s.RaftState, s.GetTerm(),
						term+2)
				}
				c.propose(c.nodes[0], "c")
			})
		}
	}
}

// TestTransferAfterOneGivenUp tests that mend leaves the election to the next transfer's successor.
func TestTransferAfterOneGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusterOf(t, 3, false)
		c.propose(c.nodes[0], "a")
		g := etcdraft.New(c.nodes[0])
		term := c.nodes[0].Status().GetTerm()
		c.freeze(2, true)
		if err := c.giveUp(g, 2); err == nil {
			t.Fatal("the transfer took place")
		}
		c.slowDown()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := g.Transfer(ctx, "3"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // mend has ended
		if s := c.nodes[2].Status(); s.RaftState != raft.StateLeader || s.GetTerm() != term+1 {
			t.Errorf("%v of term %d, want the leader of %d", s.RaftState, s.GetTerm(), term+1)
		}
	})
}

// script is a node that returns one status after the other, and then the last one.
type script struct {
	raft.Node
	says []raft.Status
	sent int // requests for a transfer
}

func (s *script) Status() raft.Status {
	now := s.says[0]
	if len(s.says) > 1 {
		s.says = s.says[1:]
	}
	return now
}

func (*script) Campaign(context.Context) error { return nil }

func (s *script) TransferLeadership(context.Context, uint64, uint64) { s.sent++ }

// TestLeadsNoMore tests that a member that has lost the leadership asks for no transfer, because
// the library would forward that to the new leader.
func TestLeadsNoMore(t *testing.T) {
	leads, follows := raft.Status{}, raft.Status{}
	leads.ID, leads.Lead, leads.RaftState = 1, 1, raft.StateLeader
	follows.ID, follows.Lead, follows.RaftState = 1, 2, raft.StateFollower
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		says []raft.Status
		sent int
	}{
		{"before it begins", []raft.Status{follows}, 0},
		{"as it is given up", []raft.Status{leads, leads, follows}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{says: c.says}
			if err := etcdraft.New(s).Transfer(over, "2"); err != nil || s.sent != c.sent {
				t.Errorf("%d requests for a transfer, want %d; %v", s.sent, c.sent, err)
			}
		})
	}
}

// TestMember drains a leader whose best successor stalls.
func TestMember(t *testing.T) {
	c := newCluster(t, 3)
	c.propose(c.nodes[0], "a")
	members := map[string]*raftgate.Member{}
	for _, nd := range c.nodes {
		m, err := raftgate.New(raftgate.Options{
			Raft: etcdraft.New(nd), TransferTimeout: 5 * time.Second,
			Ask: func(_ context.Context, id string, q []byte) ([]byte, error) { return members[id].Answer(q) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		members[etcdraft.ID(nd.id)] = m
	}
	if _, err := members["1"].TryAcquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.freeze(2, true)
	if err := members["1"].Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if lead := c.nodes[0].Status().Lead; lead != 3 {
		t.Errorf("%d leads, want the one that answers", lead)
	}
	c.propose(c.nodes[2], "b")
}
