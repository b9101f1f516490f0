package hashiraft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"evenkeel.dev/contrib/raftgate"
)

// againPause is the pause before a transfer is asked for again.
const againPause = time.Millisecond

// group implements raftgate.Raft.
type group struct {
	raft *raft.Raft
	id   raft.ServerID
}

// New returns the group of a Raft for Options.Raft of raftgate. id is the member's own, which is
// Config.LocalID.
func New(r *raft.Raft, id raft.ServerID) raftgate.Raft { return group{r, id} }

// Status returns the state of the group. It is not known which voters are behind.
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

// servers returns the group's latest configuration, or none where that is not known.
func (g group) servers() []raft.Server {
	f := g.raft.GetConfiguration() // reads an atomic value: it does not wait for the main loop
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// Transfer hands the leadership over. Where ctx ends first it returns; the library itself gives up
// later, as the package documentation says.
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
	return fmt.Errorf("hashiraft: %q is no member", to)
}

// transfer waits for the transfer of before, of which the library says that it has ended a moment
// before it has.
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
