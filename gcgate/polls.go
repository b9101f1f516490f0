package gcgate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// pollRecent is how long a peer counts as one that polls: HAProxy polls every 2 s when
	// nothing else is configured.
	pollRecent = 3 * time.Second

	// maxPollers bounds the peers that are remembered. Another is answered, not waited for.
	maxPollers = 64

	// pollTick is how often a wait looks whether a peer went silent.
	pollTick = 50 * time.Millisecond
)

// polls remembers which peers poll a signal, and what they have been told. A peer that begins
// a poll has acted on its answers of before, as it polls one at a time: that is how polls
// knows when the whole world has heard.
//
// The zero value says "ready". Methods may be called from any goroutine.
type polls struct {
	mu       sync.Mutex
	draining bool                    // guarded by mu
	pollers  map[netip.Addr]*pollers // guarded by mu; at most maxPollers
	changed  chan struct{}           // guarded by mu; closed at the next poll, nil when nobody waits
}

// pollers are all who poll from one address.
type pollers struct {
	last    time.Time // when the last poll began
	regular bool      // it followed the one before within pollRecent: no person's curl
	told    int       // answers written since the state last changed
	acted   int       // of these, how many were written when the last poll began
}

// begin notes that from begins a poll, and returns what to tell it.
func (p *polls) begin(from netip.Addr, now time.Time) (draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.pollers[from]
	if q == nil {
		if q = p.add(from, now); q == nil {
			return p.draining
		}
	} else {
		q.regular = now.Sub(q.last) <= pollRecent
	}
	q.last = now
	q.acted = q.told
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	return p.draining
}

// add remembers from in the place of one that went silent, or not at all when full.
func (p *polls) add(from netip.Addr, now time.Time) *pollers {
	if len(p.pollers) >= maxPollers {
		for a, q := range p.pollers {
			if now.Sub(q.last) > pollRecent {
				delete(p.pollers, a)
			}
		}
		if len(p.pollers) >= maxPollers {
			return nil
		}
	}
	if p.pollers == nil {
		p.pollers = make(map[netip.Addr]*pollers)
	}
	q := new(pollers)
	p.pollers[from] = q
	return q
}

// told notes that the answer to from was written. An answer of before the last change does
// not count.
func (p *polls) told(from netip.Addr, draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.pollers[from]; q != nil && draining == p.draining {
		q.told++
	}
}

// announce changes what polls are answered, and waits until every peer that polls regularly
// has acted on it: each address has polled once more after rounds answers to each of its
// each pollers. Announcing the same again waits for newcomers only.
func (p *polls) announce(ctx context.Context, draining bool, rounds, each int) error {
	p.mu.Lock()
	if p.draining != draining {
		p.draining = draining
		for _, q := range p.pollers {
			q.told, q.acted = 0, 0
		}
	}
	p.mu.Unlock()
	need := (max(rounds, 1)+1)*max(each, 1) - 1
	return p.wait(ctx, func(now time.Time) error { return p.missing(need, now) })
}

// heard waits until somebody polls, or has polled lately.
func (p *polls) heard(ctx context.Context) error {
	return p.wait(ctx, func(now time.Time) error {
		for _, q := range p.pollers {
			if now.Sub(q.last) <= pollRecent {
				return nil
			}
		}
		return errNobodyPolls
	})
}

// errNobodyPolls is what [polls.announce] and [polls.heard] wrap; the signals add what to do.
var errNobodyPolls = errors.New("nobody polls")

// missing returns nil when all have acted, else who has not. It is called with mu held.
func (p *polls) missing(need int, now time.Time) error {
	err := errNobodyPolls
	var late []string
	for a, q := range p.pollers {
		switch {
		case !q.regular || now.Sub(q.last) > pollRecent:
		case q.acted >= need:
			err = nil
		default:
			name := "the Unix socket"
			if a.IsValid() {
				name = a.String()
			}
			late = append(late, fmt.Sprintf("%s has polled %d of %d times since", name, q.acted, need))
		}
	}
	if late != nil {
		slices.Sort(late)
		return fmt.Errorf("%s: let it poll more often, every 10 ms", late[0])
	}
	return err
}

// wait returns nil when check does, or at ctx's end its last error and ctx's. It calls check
// with mu held.
func (p *polls) wait(ctx context.Context, check func(now time.Time) error) error {
	tick := time.NewTicker(pollTick)
	defer tick.Stop()
	for {
		p.mu.Lock()
		err := check(time.Now())
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

// poller returns who polls from remote, and whether they may. It is the zero Addr on a Unix
// socket, whose permissions say who may connect.
func poller(network, remote string, allow []netip.Prefix) (from netip.Addr, ok bool) {
	if network == "unix" {
		return netip.Addr{}, true
	}
	from, ok = remoteIP(remote)
	return from, ok && allowed(remote, allow)
}
