package hashiraft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// errStalls is what TimeoutNow returns when the successor does not answer in time.
var errStalls = errors.New("hashiraft: the successor does not answer")

// Transport is a NetworkTransport that does not wait for a successor that stalls, and sends a
// follower one request at a time. Its methods may be called from any goroutine.
type Transport struct {
	*raft.NetworkTransport

	// Timeout is how long a successor may take to hear that it shall lead. It should be
	// Options.TransferTimeout of raftgate. Default: 0, which is 15 ms.
	Timeout time.Duration
}

// TimeoutNow tells a server to stand for the leadership, and returns when it has heard that, or
// after Timeout: then the library takes writes again, and the server may hear it later.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse,
) error {
	timeout := t.Timeout
	if timeout <= 0 {
		timeout = 15 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer := new(raft.TimeoutNowResponse) // the caller's own is not written to after the return
	done := make(chan error, 1)
	// Ends with the connection's own deadline.
	go func() { done <- t.NetworkTransport.TimeoutNow(id, target, args, answer) }()
	select {
	case err := <-done:
		*resp = *answer
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w within %v: %s", errStalls, timeout, id)
	}
}

// AppendEntriesPipeline refuses: each follower is sent one request at a time, as with
// NetworkTransportConfig.MaxRPCsInFlight of 1. With more, a leader that a follower refuses, which
// each change of leaders makes likelier, can wait for ever within the library; that follower gets
// no more entries then, and Shutdown does not return (github.com/hashicorp/raft/issues/612, in
// v1.7.3). What pipelining saves is little (the library's pull request 541).
func (t *Transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}
