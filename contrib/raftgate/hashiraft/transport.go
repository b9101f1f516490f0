package hashiraft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

var errStalls = errors.New("hashiraft: the successor does not answer")

// Transport is a NetworkTransport that does not wait for a successor that stalls, and sends a
// follower one request at a time. Any goroutine may call its methods.
type Transport struct {
	*raft.NetworkTransport

	// Timeout bounds TimeoutNow. Set it to Options.TransferTimeout of raftgate. Default: 0, which is
	// 15 ms.
	Timeout time.Duration
}

// TimeoutNow implements raft.Transport. It returns after Timeout at the latest, and the library
// takes writes again. The successor may hear it later.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse,
) error {
	timeout := t.Timeout
	if timeout <= 0 {
		timeout = 15 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer := new(raft.TimeoutNowResponse) // not resp, which is the caller's after the return
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

// AppendEntriesPipeline refuses, as with NetworkTransportConfig.MaxRPCsInFlight of 1. With
// pipelining a leader that a follower refuses can wait for ever, and Shutdown does not return
// (github.com/hashicorp/raft/issues/612, in v1.7.3).
func (t *Transport) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}
