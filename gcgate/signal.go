package gcgate

import (
	"context"
	"time"
)

// A Signal tells one peer that sends requests here (a load balancer, a client) that this
// process is about to collect, and that it is back.
//
// The gate calls Drain and Ready of one Signal from one goroutine, never both at once. Each call
// has a deadline, 1 s for Drain and 5 s for Ready. The gate tries what fails again, with a pause,
// until it succeeds or until the gate wants the opposite. During a drain it calls Drain again every
// 100 ms, for a peer that lost its state in a restart or a reload. So both calls must be
// idempotent.
//
// Neither a slow nor a failing Signal holds up serving or collecting: the gate waits for Drain at
// most [Options.AnnounceTimeout]. But the gate holds the turn until Ready has returned nil, also
// after a Drain that failed, because the peer may have acted on it. How long it holds the turn at
// most depends on the errors:
//
//   - not at all when every Drain has returned [ErrUnreached]
//   - five minutes while Ready returns [ErrNotBack]
//   - otherwise half of the time in which the heap grows from the trigger to the hard threshold, 1
//     s to 10 s. The peer does not answer and may be restarting. The other replicas have the other
//     half to collect by turns.
//
// Once the turn is released, the gate calls Ready until it returns nil, and Drain not before that.
//
// A Signal may have more to say by implementing [Attacher], [Checker], [Confirmer], [Describer],
// [Validator], [Explainer] or [Watcher].
type Signal interface {
	// Drain asks the peer to send no new requests, and returns nil when the peer has acted on
	// it. expected is how long this process expects to be drained, from now.
	Drain(ctx context.Context, expected time.Duration) error

	// Ready tells the peer that this process is back. It returns nil if the peer sends requests again
	// for sure, or never knew of a drain. The next replica drains then.
	Ready(ctx context.Context) error

	// String names the signal and its peer, for the log.
	String() string
}

// A Confirmer is a [Signal] that knows beforehand whether its peer would act in time. Without a
// peer that does, a drain is all cost: the process collects before the peer has acted, and is out
// of rotation long after.
type Confirmer interface {
	// CanConfirm returns nil when the peer is expected to act on a Drain within the given time,
	// which is [Options.AnnounceTimeout]; else an error that says why not, and what to set: the
	// signal is then silent at this collection, and the log tells when that begins and ends.
	// It is called before each announcement, and must not block.
	CanConfirm(within time.Duration) error
}

// A Describer is a [Signal] that differs from a load balancer's health check or API.
type Describer interface {
	// Describe returns how the signal differs. Start calls it once.
	Describe() Description
}

// Description is how a [Signal] differs from that of a load balancer. Its zero value says that it
// does not.
type Description struct {
	// SafeWithoutTurn says that requests are served even if all replicas drain at once. Then the
	// gate uses the signal without the turn, and does not wait for its peer before the next replica
	// drains. Any other signal can empty a service, so [Start] wants [Options.Turns] with it.
	SafeWithoutTurn bool

	// KeepsRequests says that the peer goes on sending requests here after a Drain, as it should. A
	// member of a quorum hands its leadership over, for example, and serves reads as a follower. If
	// all signals of a collection do so, requests after the drain are no reason to warn, and the
	// gate waits at most [Options.DrainTimeout]. [Gate.EnterKept] counts single requests that stay.
	KeepsRequests bool

	// DrainWithoutTurn is called before a collection without the turn: the heap reached the hard
	// threshold first, or somebody called [Gate.CollectWithoutTurn]. If it returns no error, the gate
	// announces this collection like any other. It then waits for Drain for patience, if that is
	// longer than [Options.AnnounceTimeout]: up to 10 s, and not longer than memory lasts. After an
	// error the signal is silent this time, and the gate logs the error at Debug. It must not block.
	// Default: nil, and the signal is silent at such collections.
	DrainWithoutTurn func() (patience time.Duration, err error)
}

// describe returns a signal's description.
func describe(s Signal) Description {
	if d, ok := s.(Describer); ok {
		return d.Describe()
	}
	return Description{}
}

// An Explainer is a [Signal] that knows why requests may keep coming although its Drain has
// returned nil.
type Explainer interface {
	// WhyIgnored names the likely cause and what to set instead, for the log's warning. "" leaves
	// it at what the gate says of any peer. It must not block.
	WhyIgnored() string
}

// A Checker is a [Signal] that can tell before the first collection whether its peer is there. The
// gate calls Check at the start, again and again for 10 s until it returns nil, and logs the first
// error at Warn. [Turns] may be a Checker, too.
type Checker interface {
	Check(ctx context.Context) error
}

// A Validator is a [Signal], or are [Turns], that can tell at once whether they can work on this
// machine: an address may be empty, or a folder missing. [Start] calls Validate first of all, and
// returns its error. What is wrong elsewhere, such as a balancer that is down, is for [Checker].
type Validator interface {
	Validate() error
}
