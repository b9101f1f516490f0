package gcgate

import "evenkeel.dev/internal/enum"

// Policy says what a [Gate] does around a collection.
type Policy uint32

const (
	// PolicyAuto is PolicyDrain when there is a signal. Without one it watches the stock runtime
	// and then chooses. If there is memory to spend it is PolicyMemory, after the first collection.
	// If not, the stock runtime stays in charge (PolicyStock), and the gate watches it again after
	// 10 s, 20 s, and so on, up to 10 minutes. It goes back to watching when memory gets short. The
	// log has the choice and its figures, and what another replica and a balancer would give
	// (Stats.Advice).
	PolicyAuto Policy = iota

	// PolicyDrain tells the peers, waits until the process is quiet, collects, and comes back. It
	// refuses no request: one that comes all the same is served.
	PolicyDrain

	// PolicyThrough collects at the trigger while serving. The gain over the stock runtime is that
	// requests do not assist. It needs no peer.
	PolicyThrough

	// PolicyShed is PolicyDrain that also refuses new requests from the announcement until it is
	// back, for peers that know no other signal (nginx: proxy_next_upstream http_503). Requests
	// that run already are finished. It works because it refuses before it collects, when the CPU
	// is free to do so. Who counts the requests does the refusing: evenkeel.dev/gcgate/httpgate,
	// or an adapter that asks [Gate.Refusing].
	PolicyShed

	// PolicyMemory leaves the runtime in charge, and raises its goal (GOGC) as far as memory allows:
	// to five times the live heap or two seconds of allocation, at most 0.7 of what the memory
	// limit leaves to the heap, or without any limit a 32nd of the memory that the machine has
	// available, up to 512 MiB. Where that is less than GOGC=125, or than the program's own GOGC, off
	// included, it changes nothing. No collection is forced or put off, so it cannot do worse than the
	// runtime; it needs no peer.
	PolicyMemory

	// PolicyStock leaves the runtime in charge. It is what [Stats] say while PolicyAuto has chosen
	// that; [Options] refuse it: a process that wants it has no use for a gate.
	PolicyStock
)

var policyNames = enum.Of[Policy]("gcgate", "a policy",
	"auto", "drain", "through", "shed", "memory", "stock")

// String returns the policy's name in lower case.
func (p Policy) String() string { return policyNames.String(p) }

// announces reports whether the gate tells peers of collections.
func (p Policy) announces() bool { return p == PolicyDrain || p == PolicyShed }

// takesCharge reports whether the gate collects, and the runtime does not.
func (p Policy) takesCharge() bool { return p.announces() || p == PolicyThrough }

// MarshalText returns the policy's name. It fails for another value.
func (p Policy) MarshalText() ([]byte, error) { return policyNames.Marshal(p) }

// UnmarshalText reads the policy's name.
func (p *Policy) UnmarshalText(text []byte) error { return policyNames.Parse(text, p) }

// State is the state of a [Gate] in a collection or between two. The package documentation draws
// it.
type State uint32

// The states, in the order in which a collection goes through them.
const (
	StateServing    State = iota // requests run, nothing collects
	StateWanting                 // a collection is due; waiting for the turn
	StateAnnouncing              // the gate asks the peers to drain this process
	StateDraining                // waiting for the last requests
	StateCollecting              // the collector runs, with all Ps
	StateReadying                // the gate asks the peers to put this process back
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
	ReasonHard      Reason = iota // the heap reached the hard threshold: the gate does not wait for a turn
	ReasonTrigger                 // the heap reached the trigger
	ReasonIdleGap                 // no request was in flight and there was something to collect
	ReasonPeriodic                // nothing was collected for [Options.Period]
	ReasonRequested               // something called [Gate.Collect], such as a peer by GCI's protocol
)

var reasonNames = enum.Of[Reason]("gcgate", "a reason",
	"hard", "trigger", "idle gap", "periodic", "requested")

// String returns the reason's name in lower case.
func (r Reason) String() string { return reasonNames.String(r) }

// MarshalText returns the reason's name. It fails for another value.
func (r Reason) MarshalText() ([]byte, error) { return reasonNames.Marshal(r) }

// UnmarshalText reads the reason's name.
func (r *Reason) UnmarshalText(text []byte) error { return reasonNames.Parse(text, r) }
