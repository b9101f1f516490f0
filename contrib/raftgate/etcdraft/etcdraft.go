package etcdraft

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/raft/v3"

	"evenkeel.dev/contrib/raftgate"
)

// lookEvery is the pause between two looks at who leads, during a transfer. A look is a visit to
// the node's loop.
const lookEvery = 250 * time.Microsecond

// Bounds of what follows a transfer that was given up.
const (
	abortTimeout    = time.Second           // until the node's loop hears of it
	campaignTimeout = time.Second           // the same, of a new election
	mendLooks       = 200                   // at the group; a count, so that a process that stalls does not miss them
	mendEvery       = 10 * time.Millisecond // between two looks
)

// Node is what is used of a raft.Node.
type Node interface {
	Status() raft.Status
	Campaign(ctx context.Context) error
	TransferLeadership(ctx context.Context, lead, transferee uint64)
}

// group implements raftgate.Raft.
type group struct {
	node    Node
	mending sync.Mutex // held for a look of mend and what follows it
	handing int        // transfers under way; guarded by mending
}

// New returns the group of a node for Options.Raft of raftgate. The ids of its members are [ID].
func New(node Node) raftgate.Raft { return &group{node: node} }

// ID returns the id of a member as raftgate has it: hexadecimal, as in the log of the library. The
// id 0, which is nobody's, is empty.
func ID(id uint64) string {
	if id == raft.None {
		return ""
	}
	return strconv.FormatUint(id, 16)
}

// Status returns the state of the group.
func (g *group) Status() raftgate.Status {
	s := g.node.Status()
	st := raftgate.Status{ID: ID(s.ID), Leader: ID(s.Lead)}
	newest := s.Progress[s.ID].Match // only the leader has it
	for id := range s.Config.Voters.IDs() {
		v := raftgate.Voter{ID: ID(id)}
		if p, ok := s.Progress[id]; ok && p.Match < newest {
			v.Behind = newest - p.Match
		}
		st.Voters = append(st.Voters, v)
	}
	slices.SortFunc(st.Voters, func(a, b raftgate.Voter) int { return strings.Compare(a.ID, b.ID) })
	return st
}

// Transfer hands the leadership over. It returns when the successor leads, or when somebody else
// does. What is sent while the leadership leaves this member by itself the library forwards to the
// new leader, which hands it on once more (raft.go, stepFollower); the window is short, and an
// application closes it that sends no MsgTransferLeader to another member.
func (g *group) Transfer(ctx context.Context, to string) error {
	id, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return fmt.Errorf("etcdraft: %q is no member: use ID", to)
	}
	g.hand(1)
	defer g.hand(-1)
	s := g.node.Status()
	if s.RaftState != raft.StateLeader {
		return nil // since it was asked about
	}
	self := s.ID
	g.node.TransferLeadership(ctx, self, id)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		s = g.node.Status()
		if s.Lead != self && s.Lead != raft.None {
			return nil
		}
		select {
		case <-look.C:
			continue
		case <-ctx.Done():
		}
		if s = g.node.Status(); s.RaftState != raft.StateLeader { // the look before may be an old one
			return nil // it votes, and there is nothing to give up
		}
		abort, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		g.node.TransferLeadership(abort, self, self) // raft.go: a transfer to itself ends the one that runs
		go g.mend()
		return fmt.Errorf("etcdraft: the transfer to %s was given up: %w", to, context.Cause(ctx))
	}
}

// hand notes that a transfer begins or ends. While it runs, a group without a leader is about to
// have the successor as its leader.
func (g *group) hand(n int) {
	g.mending.Lock()
	defer g.mending.Unlock()
	g.handing += n
}

// mend watches the group after a transfer that was given up. The successor may hear of it late, and
// campaign without what was written since. This member gives way to its term, no member votes for
// it, and all would wait for an election timeout. This member has all that was written, so it
// campaigns itself if the group has had no leader for two looks.
func (g *group) mend() {
	look := time.NewTicker(mendEvery)
	defer look.Stop()
	leaderless := false
	for range mendLooks {
		<-look.C
		var done bool
		if leaderless, done = g.campaign(leaderless); done {
			return
		}
	}
}

// campaign looks at the group, and has this member campaign if there is no leader, nor was at the
// look before. It does not while this member is a candidate, because a new election would have a
// new term, and the votes of the old one would not count. Nor does it while another transfer is
// under way.
func (g *group) campaign(before bool) (leaderless, done bool) {
	g.mending.Lock() // another mend must not see a follower that is about to campaign
	defer g.mending.Unlock()
	s := g.node.Status()
	if s.ID == raft.None || s.Lead != raft.None && s.Lead != s.ID { // stopped; or another member leads
		return false, true
	}
	leaderless = s.Lead == raft.None && s.RaftState == raft.StateFollower && g.handing == 0
	if leaderless && before {
		ctx, cancel := context.WithTimeout(context.Background(), campaignTimeout)
		defer cancel()
		_ = g.node.Campaign(ctx) // fails where the node stops
		return false, false
	}
	return leaderless, false
}
