package gcgate

import (
	"context"
	"sync"
	"time"
)

// control is the control goroutine: it alone watches the heap and takes the gate through its
// states. Its parts are owned by it.
type control struct {
	options  Options // with defaults
	pacing   *pacing // safe for all goroutines
	waiters  *waiters
	stop     <-chan struct{} // closed when the gate stops
	wake     chan struct{}   // someone waits for a collection; capacity 1
	others   sync.WaitGroup  // goroutines beside this one that Stop waits for
	heap     *heapWatch
	turns    *turnTaker
	rounds   *rounds
	observer *observer
	adviser  *adviser
}

// newControl returns one for a gate with options o and a memory limit to keep.
func newControl(o Options, limit int64, g *Gate) *control {
	c := &control{
		options: o, pacing: newPacing(o.Collector), waiters: g.waiters, stop: g.stop, wake: make(chan struct{}, 1),
	}
	requests := &traffic{counter: g.requests}
	c.heap = &heapWatch{
		options: &c.options, log: o.Logger, collector: o.Collector, pacing: c.pacing,
		requests: requests, status: g.status, stop: g.stop, policy: o.Policy, requested: limit,
		turns: newTurnLoad(&c.options), warnings: newWarnings(o.Logger),
	}
	c.turns = &turnTaker{
		turns: o.Turns, hold: o.HoldTurn, heap: c.heap, log: o.Logger, waiters: g.waiters, calls: g.calls,
		others: &c.others, stop: g.stop,
	}
	c.rounds = &rounds{
		options: &c.options, log: o.Logger, requests: requests, status: g.status, waiters: g.waiters, calls: g.calls,
		events: &events{}, heap: c.heap, turns: c.turns, stop: g.stop,
	}
	c.observer = &observer{heap: c.heap, log: o.Logger}
	c.adviser = &adviser{heap: c.heap, log: o.Logger}
	return c
}

// begin decides what PolicyAuto does at first, and takes charge of the collector. took is how long
// the collection at the start took.
func (c *control) begin(took time.Duration) {
	if c.heap.policy == PolicyAuto {
		c.heap.policy = PolicyStock
		if len(c.rounds.announcers) > 0 {
			c.heap.policy = PolicyDrain
		}
		logAuto(c.options.Logger, c.heap.policy)
	}
	if c.heap.policy.announces() && divertsRequests(c.rounds.announcers) {
		c.heap.turns.assumed = lateAtMost
	}
	c.heap.begin(took)
}

// run samples the heap and collects until Stop.
func (c *control) run() {
	defer c.heap.timer.Stop()
	for d := time.Duration(0); ; d = c.interval() {
		c.heap.sleep(d, c.wake)
		c.heap.warnings.settle(c.heap.sampled)
		if isClosed(c.stop) {
			return
		}
		if c.heap.policy == PolicyStock {
			c.observer.observe()
		}
		reason, due := c.due()
		if due {
			c.rounds.run(reason)
			c.heap.sample()
			if c.heap.policy == PolicyShed || c.heap.policy == PolicyDrain && divertsRequests(c.rounds.announcers) {
				c.heap.warnUncounted()
			}
		}
		if c.options.Policy == PolicyAuto {
			c.observer.review()
		}
		if len(c.rounds.announcers) == 0 && c.heap.policy != PolicyShed {
			c.adviser.look()
		}
	}
}

// wakeUp has the control goroutine look who waits. Any goroutine may call it.
func (c *control) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default: // it will look
	}
}

// interval is the time to the next sample.
func (c *control) interval() time.Duration {
	if c.heap.policy == PolicyStock {
		return c.observer.interval()
	}
	if reason, due := c.due(); due && reason == ReasonHard { // the last round has ended too late for a pause
		return sampleMin
	}
	return c.heap.interval()
}

// due says whether to collect now, and why.
func (c *control) due() (Reason, bool) {
	h := c.heap
	if !h.returned() && !h.marked {
		return 0, false // its sweep needs no waiting for: the next collection ends it
	}
	switch {
	case c.waiters.any():
		return ReasonRequested, true
	case !h.inCharge:
		return 0, false
	case h.pastHard():
		return ReasonHard, true
	case h.used >= h.thresholds.trigger:
		return ReasonTrigger, true
	case c.options.Period > 0 && h.sampled.Sub(h.collected) >= c.options.Period:
		return ReasonPeriodic, true
	case h.inGap() && !h.sampled.Before(c.turns.holdOff):
		return ReasonIdleGap, true
	}
	return 0, false
}

// awaitPeers waits until all turns are released, and all peers know that this process is ready:
// they must go on hearing until then. The bound is one for all peers.
func (c *control) awaitPeers() {
	bound, done := context.WithTimeout(context.Background(), stopTimeout)
	defer done()
	c.turns.releases.Wait()
	for _, a := range c.rounds.announcers {
		a.awaitStopped(bound, c.stop)
	}
}
