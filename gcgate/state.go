package gcgate

import (
	"fmt"
	"time"
)

// State is where a [Gate] stands between two collections; the package documentation draws it.
type State uint32

// The states, in the order in which a collection goes through them.
const (
	Serving    State = iota // requests run, nobody collects
	Wanting                 // a collection is due; waiting for the turn
	Announcing              // the peers are being told
	Draining                // waiting for the last requests
	Collecting              // the collector runs, with all Ps
	Readying                // the peers are being told that this process is back
)

var stateNames = [...]string{"serving", "wanting", "announcing", "draining", "collecting", "readying"}

// String returns the state's name in lower case.
func (s State) String() string { return name(stateNames[:], uint32(s)) }

// MarshalText returns the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reason says why a [Gate] collects.
type Reason uint32

// The reasons, the most pressing first.
const (
	Hard      Reason = iota // the heap reached the hard threshold: no turn is waited for
	Trigger                 // the heap reached the trigger
	IdleGap                 // no request was in flight and there was something to collect
	Periodic                // nothing was collected for [Options.Period]
	Requested               // [Gate.Collect], or a peer by GCI's protocol
)

var reasonNames = [...]string{"hard", "trigger", "idle gap", "periodic", "requested"}

// String returns the reason's name in lower case.
func (r Reason) String() string { return name(reasonNames[:], uint32(r)) }

// MarshalText returns the reason's name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// An Event is one change of state.
type Event struct {
	Time     time.Time
	State    State         // the state that begins
	Reason   Reason        // why, from Wanting to Readying
	Heap     uint64        // bytes of objects, live and dead
	InFlight int           // requests
	Expected time.Duration // how long the collection is expected to take

	// WithoutTurn says that there are Turns, and that this collection goes without one.
	WithoutTurn bool
}

func name(names []string, i uint32) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}
