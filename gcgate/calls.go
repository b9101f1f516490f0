package gcgate

import (
	"slices"
	"sync"
)

// calls are the calls of the user's code that run now, so that Stop can name one that hangs. The
// zero value is ready.
type calls struct {
	mu      sync.Mutex
	running map[*string]struct{} // guarded by mu; their names
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
