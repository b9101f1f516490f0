package gcgate

import (
	"context"
	"time"
)

// A Signal tells one peer that sends requests here (a load balancer, a client) that this
// process is about to collect, and that it is back.
//
// The gate calls Drain and Ready of one Signal from one goroutine, never both at once. Each
// call has a deadline; what fails is tried again, with a pause, until it succeeds or until the
// gate wants the opposite. While the gate is away it calls Drain again every 100 ms, so that a
// peer that lost its state (a restart, a reload) hears of it: both calls must be idempotent.
//
// Neither a slow nor a failing Signal holds up serving or collecting: the gate waits for Drain
// at most [Options.AnnounceTimeout].
type Signal interface {
	// Drain asks the peer to send no new requests, and returns nil when the peer has acted on
	// it. expected is how long this process expects to be away, from now.
	Drain(ctx context.Context, expected time.Duration) error

	// Ready tells the peer that this process is back, and returns nil when the peer has seen
	// it. The gate holds its turn until then.
	Ready(ctx context.Context) error

	// String names the signal and its peer, for the log.
	String() string
}

// A Checker is a [Signal] that can tell before the first collection whether its peer is
// there. The gate calls Check once at the start, and logs its error at Warn.
type Checker interface {
	Check(ctx context.Context) error
}
