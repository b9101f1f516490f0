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

// lookEvery is between two calls of Status during a transfer. A call waits for the node's loop.
const lookEvery = 250 * time.Microsecond

const (
	abortTimeout    = time.Second
	campaignTimeout = time.Second
	mendLooks       = 200 // a count, because the process may stall
	mendEvery       = 10 * time.Millisecond
)

type group struct {
	node    raft.Node
	mending sync.Mutex // held by mend from a look to what follows it
	handing int        // transfers under way; guarded by mending
}

// New returns the Options.Raft of raftgate for a node. [ID] returns the ids of its members.
func New(node raft.Node) raftgate.Raft { return &group{node: node} }

// ID returns a member's id in raftgate, which is hexadecimal, or "" for 0.
func ID(id uint64) string {
	if id == raft.None {
		return ""
	}
	return strconv.FormatUint(id, 16)
}

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

// Transfer implements raftgate.Raft. If this member loses the leadership at that moment, the
// library forwards the request, and the new leader hands on (raft.go, stepFollower).
func (g *group) Transfer(ctx context.Context, to string) error {
	id, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return fmt.Errorf("etcdraft: %q is not a member: use ID", to)
	}
	g.hand(1)
	defer g.hand(-1)
	s := g.node.Status()
	if s.RaftState != raft.StateLeader {
		return nil
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
		if s = g.node.Status(); s.RaftState != raft.StateLeader {
			return nil // it votes
		}
		abort, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		g.node.TransferLeadership(abort, self, self) // a transfer to itself ends the one that runs
		go g.mend()
		return fmt.Errorf("etcdraft: the transfer to %s was given up: %w", to, context.Cause(ctx))
	}
}

// hand counts the transfers under way. During one, a group without a leader is about to have one.
func (g *group) hand(n int) {
	g.mending.Lock()
	defer g.mending.Unlock()
	g.handing += n
}

// mend watches the group after a transfer that was given up. The successor may hear of it late, and
// campaign without the latest entries. This member then follows its term, no member votes for it,
// and all wait for an election timeout. This member has all entries, so it campaigns.
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

// campaign has this member campaign if there is no leader at this look and the last one. A
// candidate does not campaign again, because votes of the old term would not count.
func (g *group) campaign(before bool) (leaderless, done bool) {
	g.mending.Lock() // of two mends only one campaigns
	defer g.mending.Unlock()
	s := g.node.Status()
	if s.ID == raft.None || s.Lead != raft.None && s.Lead != s.ID { // stopped, or another member leads
		return false, true
	}
	leaderless = s.Lead == raft.None && s.RaftState == raft.StateFollower && g.handing == 0
	if leaderless && before {
		ctx, cancel := context.WithTimeout(context.Background(), campaignTimeout)
		defer cancel()
		_ = g.node.Campaign(ctx) // fails if the node stops
		return false, false
	}
	return leaderless, false
}
