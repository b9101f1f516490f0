package gcgate

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// shared does not change.
type shared struct {
	options  *Options // with defaults
	log      *slog.Logger
	warnings *warnings
	pacing   *pacing
	requests *traffic
	status   *status
	waiters  *waiters
	stop     <-chan struct{}
}

// The control goroutine owns control and all below it, except for what has a lock of its own. It
// alone watches the heap.
type control struct {
	*shared
	heap   *heapWatch
	turns  *turnTaker
	rounds *rounds

	awaitsCount bool // to warn if no request is counted

	wake   chan struct{} // capacity 1
	others sync.WaitGroup
}

func newControl(o Options, limit int64, g *Gate) *control {
	s := &shared{
		options: &o, log: o.Logger, warnings: newWarnings(o.Logger), pacing: newPacing(o.Collector),
		requests: &traffic{counter: g.requests}, status: g.status, waiters: g.waiters, stop: g.stop,
	}
	c := &control{shared: s, wake: make(chan struct{}, 1)}
	c.heap = &heapWatch{
		shared: s, collector: o.Collector, turns: newTurnLoad(&o), policy: o.Policy, requested: limit,
		unspent: growthUnknown,
	}
	c.turns = &turnTaker{shared: s, turns: o.Turns, heap: c.heap, others: &c.others}
	c.rounds = &rounds{shared: s, heap: c.heap, turns: c.turns}
	return c
}

func (c *control) begin(took time.Duration) {
	diverts := divertsRequests(c.rounds.announcers)
	switch {
	case c.heap.policy != PolicyAuto:
	case len(c.rounds.announcers) > 0:
		c.heap.policy = PolicyDrain
		c.log.Info("gcgate: auto: there is a signal, so another replica serves while this one collects",
			"policy", PolicyDrain)
	default:
		c.awaitsCount = true
		c.heap.policy = PolicyMemory
		c.log.Info("gcgate: auto: no signals, so requests will overlap collections; fewer of them if there is memory",
			"policy", PolicyMemory,
			"fix", "with several replicas behind a load balancer, set Options.Signals and Turns, "+
				"or PolicyShed and Turns if the balancer tries another replica after a 503")
	}
	if c.heap.policy.announces() && diverts {
		c.heap.turns.assumed = lateAtMost
	}
	c.awaitsCount = c.awaitsCount || c.heap.policy == PolicyShed || c.heap.policy == PolicyDrain && diverts
	c.heap.begin(took)
}

func (c *control) run() {
	defer c.heap.timer.Stop()
	for d := time.Duration(0); ; d = c.interval() {
		c.heap.sleep(d, c.wake)
		if isClosed(c.stop) {
			return
		}
		reason, due := c.due()
		if due {
			c.rounds.run(reason)
			c.heap.sample()
		}
		c.awaitsCount = c.awaitsCount && !c.heap.knowsCount()
	}
}

func (c *control) interval() time.Duration {
	if reason, due := c.due(); due && reason == ReasonHard { // the last round ended too late to pause
		return sampleMin
	}
	return c.heap.interval()
}

func (c *control) awaitPeers() {
	bound, done := context.WithTimeout(context.Background(), stopTimeout)
	defer done()
	c.turns.releases.Wait()
	for _, a := range c.rounds.announcers {
		a.awaitStopped(bound, c.stop)
	}
}
