package gcgate

import (
	"context"
	"time"
)

// A Signal asks one peer that sends requests here (a load balancer, a client) to drain this process
// before a collection, and to put it back.
//
// The gate calls Drain and Ready from one goroutine, with a deadline of 1 s and 5 s. It repeats
// what fails, and a Drain every 100 ms for a peer that restarts. So both must be idempotent.
//
// The gate holds the turn until Ready has returned nil, with these limits:
//
//   - not at all if every Drain has returned [ErrUnreached]
//   - five minutes while Ready returns [ErrNotBack]
//   - otherwise 1 s to 10 s: half of the time from the trigger to the hard threshold
//
// A Signal may also implement [Attacher], [Checker], [Confirmer], [Describer], [Validator],
// [Explainer] or [Watcher].
type Signal interface {
	// Drain asks the peer to send no new requests, and returns nil when it has acted. expected is
	// how long this process expects to be drained.
	Drain(ctx context.Context, expected time.Duration) error

	// Ready asks the peer to put this process back. It returns nil if the peer certainly sends
	// requests again, or never knew of a drain. Then the next replica drains.
	Ready(ctx context.Context) error

	// String names the signal and its peer, for the log.
	String() string
}

// A Confirmer is a [Signal] that knows whether its peer would act on a Drain in time.
type Confirmer interface {
	// CanConfirm returns nil if the peer is expected to act within [Options.AnnounceTimeout].
	// Otherwise the gate leaves the signal out, and logs the error. It must not block.
	CanConfirm(within time.Duration) error
}

// A Describer is a [Signal] that differs from a load balancer's health check or API.
type Describer interface {
	// Describe is called once, by Start.
	Describe() Description
}

// Description is how a [Signal] differs from that of a load balancer.
type Description struct {
	// SafeWithoutTurn says that requests are served even if all replicas drain at once. Any other
	// signal needs [Options.Turns].
	SafeWithoutTurn bool

	// KeepsRequests says that the peer rightly sends requests here after a Drain, such as reads to
	// a Raft follower. Then the gate does not warn of them.
	KeepsRequests bool

	// DrainWithoutTurn is called before a collection without the turn. If it returns no error, the
	// gate announces this collection, and waits for at least patience, up to 10 s. It must not
	// block. Default: nil, the signal is silent then.
	DrainWithoutTurn func() (patience time.Duration, err error)
}

func describe(s Signal) Description {
	if d, ok := s.(Describer); ok {
		return d.Describe()
	}
	return Description{}
}

// An Explainer is a [Signal] that knows why requests may keep coming after a confirmed Drain.
type Explainer interface {
	// WhyIgnored names the likely cause and its fix for the log, or "". It must not block.
	WhyIgnored() string
}

// A Checker is a [Signal] or [Turns] that can look for its peer. The gate calls Check for 10 s
// after the start until it returns nil, and logs the first error.
type Checker interface {
	Check(ctx context.Context) error
}

// A Validator is a [Signal] or [Turns] that can check its fields. [Start] calls Validate first, and
// returns its error.
type Validator interface {
	Validate() error
}

// A Watcher is a [Signal] that looks after its peer as long as the gate runs. For example it puts
// back replicas that were killed during a drain.
type Watcher interface {
	// Watch is called once, in a goroutine of its own. It must return when ctx ends.
	Watch(ctx context.Context, g *Gate)
}
