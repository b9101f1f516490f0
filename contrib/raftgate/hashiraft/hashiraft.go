package hashiraft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"evenkeel.dev/contrib/raftgate"
)

const againPause = time.Millisecond

type group struct {
	raft *raft.Raft
	id   raft.ServerID
}

// New returns the Options.Raft of raftgate for r. id is Config.LocalID.
func New(r *raft.Raft, id raft.ServerID) raftgate.Raft { return group{r, id} }

func (g group) Status() raftgate.Status {
	st := raftgate.Status{ID: string(g.id)}
	if _, leader := g.raft.LeaderWithID(); leader != g.id || g.raft.State() == raft.Leader {
		st.Leader = string(leader)
	}
	for _, s := range g.servers() {
		if s.Suffrage == raft.Voter {
			st.Voters = append(st.Voters, raftgate.Voter{ID: string(s.ID)})
		}
	}
	return st
}

func (g group) servers() []raft.Server {
	f := g.raft.GetConfiguration() // does not wait for the main loop
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// Transfer implements raftgate.Raft. When ctx ends it returns, but the library gives up later.
func (g group) Transfer(ctx context.Context, to string) error {
	for _, s := range g.servers() {
		if string(s.ID) != to {
			continue
		}
		done := make(chan error, 1)
		go func() { done <- g.transfer(ctx, s) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return fmt.Errorf("hashiraft: the transfer to %s goes on: %w", to, context.Cause(ctx))
		}
	}
	return fmt.Errorf("hashiraft: %q is not a member", to)
}

// transfer tries again while the library still has the last transfer.
func (g group) transfer(ctx context.Context, to raft.Server) error {
	for {
		err := g.raft.LeadershipTransferToServer(to.ID, to.Address).Error()
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(againPause):
		}
	}
}

var errStalls = errors.New("hashiraft: the successor does not answer")

// Transport is a NetworkTransport that does not wait for a successor that stalls. Any goroutine may
// call its methods.
type Transport struct {
	*raft.NetworkTransport

	// Timeout bounds TimeoutNow. Set it to Options.TransferTimeout of raftgate. Default: 0, which
	// is 15 ms.
	Timeout time.Duration
}

// TimeoutNow implements raft.Transport. It returns after Timeout at the latest.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse,
) error {
	timeout := t.Timeout
	if timeout <= 0 {
		timeout = 15 * time.Millisecond
	}
	answer := new(raft.TimeoutNowResponse) // resp is the caller's after the return
	done := make(chan error, 1)
	// Ends with the connection's own deadline.
	go func() { done <- t.NetworkTransport.TimeoutNow(id, target, args, answer) }()
	select {
	case err := <-done:
		*resp = *answer
		return err
	case <-time.After(timeout):
		return fmt.Errorf("%w within %v: %s", errStalls, timeout, id)
	}
}

// AppendEntriesPipeline refuses. With pipelining a leader that a follower refuses can wait for
// ever, and Shutdown does not return (github.com/hashicorp/raft/issues/612, in v1.7.3).
func (t *Transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}
