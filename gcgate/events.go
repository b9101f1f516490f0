package gcgate

import (
	"slices"
	"sync"
	"time"
)

// An Event is one change of state.
type Event struct {
	Time     time.Time
	State    State         // the state that begins
	Reason   Reason        // why, from StateWanting to StateReadying
	Heap     uint64        // bytes of objects, live and dead
	InFlight int           // requests
	Expected time.Duration // how long the collection is expected to take

	// WithoutTurn says that there are Turns, and that this collection goes without one.
	WithoutTurn bool

	// Overlapped are the requests that overlapped the mark phase of this collection, in the events
	// after StateCollecting. See [Stats].
	Overlapped uint64
}

// events are those who want to hear of each. The zero value is ready.
type events struct {
	mu   sync.Mutex
	list []*listener // guarded by mu; in the order in which they came
}

// listener is one of them.
type listener struct {
	name string // of the call, for the log
	f    func(Event)
}

// add has f called at each event from now on, until remove is called.
func (e *events) add(name string, f func(Event)) (remove func()) {
	l := &listener{name, f}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, l)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.list = slices.DeleteFunc(slices.Clone(e.list), func(x *listener) bool { return x == l })
	}
}

// notify calls all of them, one after the other. The list may change in between.
func (e *events) notify(calls *calls, event Event) {
	e.mu.Lock()
	list := e.list
	e.mu.Unlock()
	for _, l := range list {
		end := calls.begin(l.name)
		l.f(event)
		end()
	}
}
