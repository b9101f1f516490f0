package gcgate

import (
	"slices"
	"sync"
	"time"
)

// An Event is one change of state.
type Event struct {
	Time     time.Time
	State    State  // that begins
	Reason   Reason // from StateWanting to StateReadying
	Heap     uint64 // bytes of objects, live and dead
	InFlight int
	Expected time.Duration // how long the collection is expected to take

	// WithoutTurn says that there are Turns, and that this collection has none.
	WithoutTurn bool

	// Overlapped are the requests that overlapped the mark phase, in the events after
	// StateCollecting.
	Overlapped uint64
}

// calls are the calls of the user's code that run now, so that Stop can name one that hangs. The
// zero value is ready.
type calls struct {
	mu      sync.Mutex
	running map[*string]struct{}
}

func (c *calls) begin(name string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = make(map[*string]struct{})
	}
	c.running[&name] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, &name)
	}
}

func (c *calls) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.running {
		names = append(names, *name)
	}
	slices.Sort(names)
	return names
}
