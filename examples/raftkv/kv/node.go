// Package kv is a small replicated store in memory, by go.etcd.io/raft/v3 over HTTP. It shows what
// a gate does for a Raft group. A member that has ended must not come back under its id.
package kv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

const (
	tick          = 10 * time.Millisecond
	heartbeatTick = 5
	electionTick  = 50 // up to twice that
	// The server has to answer within 30 s.
	writeTimeout = 20 * time.Second
	holdPause    = 500 * time.Microsecond // between two looks whether a transfer is over
)

type Config struct {
	ID      uint64   // of this member, from 1
	Members []string // base URLs, in the order of ids
	Applied func()   // at each write that is applied; may be nil
	Log     *slog.Logger

	// SnapshotEvery is after how many entries the log loses its older half. 0: 65,536.
	SnapshotEvery uint64
}

// Node is one member. Any goroutine may call its methods.
type Node struct {
	config  Config
	raft    raft.Node
	storage *raft.MemoryStorage
	voters  *raftpb.ConfState
	store   *store
	peers   map[uint64]*peer
	lead    atomic.Uint64
	applied uint64 // index; owned by run
	stop    context.CancelFunc
	running sync.WaitGroup
}

func Start(c Config) (*Node, error) {
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 1<<16)
	n := &Node{
		config: c, storage: raft.NewMemoryStorage(), voters: &raftpb.ConfState{}, store: newStore(),
		peers: map[uint64]*peer{},
	}
	for id := range c.Members {
		n.voters.Voters = append(n.voters.Voters, uint64(id)+1)
	}
	first := &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		ConfState: n.voters, Index: new(uint64(1)), Term: new(uint64(1)),
	}}
	if err := n.storage.ApplySnapshot(first); err != nil {
		return nil, err
	}
	n.applied = 1
	n.raft = raft.RestartNode(&raft.Config{
		ID: c.ID, Storage: n.storage, Applied: n.applied, ElectionTick: electionTick, HeartbeatTick: heartbeatTick,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256, CheckQuorum: true, PreVote: true,
		DisableProposalForwarding: true, // clients are told the leader
		Logger:                    &raft.DefaultLogger{Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)},
	})
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	for i, url := range c.Members {
		if id := uint64(i) + 1; id != c.ID {
			p := newPeer(n, id, url)
			n.peers[id] = p
			n.running.Go(func() { p.run(ctx) })
		}
	}
	n.running.Go(func() { n.run(ctx) })
	return n, nil
}

func (n *Node) Raft() raft.Node { return n.raft }

// Stop ends the member.
func (n *Node) Stop() {
	n.stop()
	n.running.Wait()
	n.raft.Stop()
	for _, p := range n.peers {
		p.client.CloseIdleConnections()
	}
}

func (n *Node) run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n.raft.Tick()
		case rd := <-n.raft.Ready():
			if err := n.handle(rd); err != nil {
				n.config.Log.Error("this member stops: what the others sent cannot be applied", "error", err)
				return
			}
			n.raft.Advance()
		}
	}
}

func (n *Node) handle(rd raft.Ready) error {
	if rd.SoftState != nil && n.lead.Swap(rd.SoftState.Lead) != rd.SoftState.Lead {
		n.config.Log.Debug("leader", "id", rd.SoftState.Lead)
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		if err := errors.Join(n.storage.ApplySnapshot(rd.Snapshot),
			n.store.unmarshal(rd.Snapshot.GetData())); err != nil {
			return err
		}
		n.applied = rd.Snapshot.GetMetadata().GetIndex()
	}
	if err := n.storage.Append(rd.Entries); err != nil {
		return err
	}
	if !raft.IsEmptyHardState(rd.HardState) {
		if err := n.storage.SetHardState(rd.HardState); err != nil {
			return err
		}
	}
	for _, m := range rd.Messages {
		if m.GetType() == raftpb.MsgTransferLeader {
			continue // of a former leader: the new one would hand over
		}
		if p := n.peers[m.GetTo()]; p != nil {
			if err := p.send(m); err != nil {
				return err
			}
		}
	}
	for _, e := range rd.CommittedEntries {
		n.applied = e.GetIndex()
		if len(e.GetData()) == 0 {
			continue // of a new leader
		}
		if err := n.store.apply(e.GetData()); err != nil {
			return err
		}
		if n.config.Applied != nil {
			n.config.Applied()
		}
	}
	return n.compact()
}

func (n *Node) compact() error {
	first, err := n.storage.FirstIndex()
	if err != nil || n.applied < first+n.config.SnapshotEvery {
		return err
	}
	data, err := n.store.marshal()
	if err != nil {
		return err
	}
	if _, err := n.storage.CreateSnapshot(n.applied, n.voters, data); err != nil {
		return err
	}
	return n.storage.Compact(n.applied - n.config.SnapshotEvery/2)
}

type elsewhere struct{ leader uint64 }

func (e elsewhere) Error() string { return fmt.Sprintf("member %d leads", e.leader) }

// write returns when the write is applied here. It proposes again what a transfer refuses.
func (n *Node) write(ctx context.Context, c command) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	for {
		err := n.raft.Propose(ctx, data) // waits until a leader is known
		switch {
		case err == nil:
			return n.store.await(ctx, c.Client, c.Seq)
		case !errors.Is(err, raft.ErrProposalDropped):
			return err
		}
		if lead := n.lead.Load(); lead != raft.None && lead != n.config.ID {
			return elsewhere{lead}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(holdPause):
		}
	}
}

// Messages takes what other members send, by POST.
func (n *Node) Messages() http.Handler { return http.HandlerFunc(n.receive) }
