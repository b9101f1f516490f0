package gcgate

import "evenkeel.dev/internal/enum"

// Policy says what a [Gate] does around a collection.
type Policy uint32

const (
	// PolicyAuto is PolicyDrain if there is a signal, and PolicyMemory otherwise.
	PolicyAuto Policy = iota

	// PolicyDrain asks the peers to drain this process, waits until it is quiet, and collects.
	PolicyDrain

	// PolicyThrough collects at the trigger while serving. It needs no peer.
	PolicyThrough

	// PolicyShed is PolicyDrain, but the adapter that counts requests also refuses new ones.
	// It is for peers that then try another replica (nginx: proxy_next_upstream http_503).
	PolicyShed

	// PolicyMemory leaves the runtime in charge, and raises its goal (GOGC) to five times the live
	// heap or two seconds of allocation. The goal stays below 0.7 of the memory limit, or without a
	// limit below a 32nd of the machine's available memory, up to 512 MiB. A goal that is higher
	// already stays. It needs no peer.
	PolicyMemory
)

var policyNames = enum.Of[Policy]("gcgate", "a policy",
	"auto", "drain", "through", "shed", "memory")

// String returns the policy's name in lower case.
func (p Policy) String() string { return policyNames.String(p) }

func (p Policy) announces() bool { return p == PolicyDrain || p == PolicyShed }

func (p Policy) takesCharge() bool { return p.announces() || p == PolicyThrough }

// MarshalText returns the policy's name. It fails for another value.
func (p Policy) MarshalText() ([]byte, error) { return policyNames.Marshal(p) }

// UnmarshalText reads the policy's name.
func (p *Policy) UnmarshalText(text []byte) error { return policyNames.Parse(text, p) }

// State is the state of a [Gate]. The package documentation draws it.
type State uint32

// The states of a collection, in order.
const (
	StateServing    State = iota // nothing collects
	StateWanting                 // waits for the turn
	StateAnnouncing              // asks the peers to drain this process
	StateDraining                // waits until no request is here
	StateCollecting
	StateReadying // asks the peers to put this process back
)

var stateNames = enum.Of[State]("gcgate", "a state",
	"serving", "wanting", "announcing", "draining", "collecting", "readying")

// String returns the state's name in lower case.
func (s State) String() string { return stateNames.String(s) }

// MarshalText returns the state's name. It fails for another value.
func (s State) MarshalText() ([]byte, error) { return stateNames.Marshal(s) }

// UnmarshalText reads the state's name.
func (s *State) UnmarshalText(text []byte) error { return stateNames.Parse(text, s) }

// Reason says why a [Gate] collects.
type Reason uint32

// The reasons, the most pressing first.
const (
	ReasonHard      Reason = iota // heap at the hard threshold
	ReasonTrigger                 // heap at the trigger
	ReasonIdleGap                 // no request in flight
	ReasonPeriodic                // [Options.Period] is over
	ReasonRequested               // [Gate.Collect]
)

var reasonNames = enum.Of[Reason]("gcgate", "a reason",
	"hard", "trigger", "idle gap", "periodic", "requested")

// String returns the reason's name in lower case.
func (r Reason) String() string { return reasonNames.String(r) }

// MarshalText returns the reason's name. It fails for another value.
func (r Reason) MarshalText() ([]byte, error) { return reasonNames.Marshal(r) }

// UnmarshalText reads the reason's name.
func (r *Reason) UnmarshalText(text []byte) error { return reasonNames.Parse(text, r) }
