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
	// pollForget is when a silent peer is gone, whatever it was told, and the longest interval
	// that counts as regular: three times the slowest polls that are worth a thought.
	pollForget = 30 * time.Second

	// pollGone is when a peer that was told nothing and that polled fast counts as gone. Should
	// it come back and be told to drain, then it is waited for all the same.
	pollGone = 3 * time.Second

	// pollsKept is how many polls of a peer are remembered, to tell how fast it polls.
	pollsKept = 16

	// maxPollers bounds the peers that are remembered. Another is told "ready" at all times.
	maxPollers = 64

	// pollTick is how often a wait looks whether a peer went silent.
	pollTick = 50 * time.Millisecond
)

// peerState is what a peer says of this process when it polls.
type peerState uint8

const (
	peerSilent peerState = iota // it says nothing
	peerUp                      // it sends requests here
	peerDown                    // it sends none
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

	sight    sight // guarded by mu
	outs     int   // addresses that had this process out when it was ready again; guarded by mu
	unproven bool  // one of them was taken for back without a proof; guarded by mu
}

// pollers are all who poll from one address.
type pollers struct {
	begun [pollsKept]time.Time // when the last polls began; a ring
	n     int                  // polls in all
	gap   time.Duration        // between the last two

	told  int       // answers written since the state last changed
	acted int       // of these, how many were written when the last poll began
	says  peerState // with the last poll
	agree int       // polls in a row since the state changed with which it says the same

	out     bool      // it was told to drain, and is not known to have this process back
	due     time.Time // when it should have this process back, as far as answers tell; zero: not yet
	still   time.Time // no request had come from then on
	entered uint32    // requests by then
}

// demand is what a peer takes to act.
type demand struct {
	rounds int  // answers in a row
	each   int  // how many poll from one address, by turns
	proof  bool // rounds may be wrong: look for a proof that a peer has this process back
}

// answers is how many answers to an address tell each of its pollers rounds times.
func (d demand) answers() int { return (d.rounds+1)*d.each - 1 }

// agreeing is how many polls in a row must say so, for each poller to have said it.
func (d demand) agreeing() int { return 2*d.each - 1 }

// attach lets p see requests. Those of a gate before do not count.
func (p *polls) attach(g *Gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sight.gate, p.sight.since = g, time.Time{}
	for _, q := range p.pollers {
		q.due = time.Time{}
	}
}

// begin notes that from begins a poll, and returns what to tell it.
func (p *polls) begin(from netip.Addr, says peerState, now time.Time) (draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.pollers[from]
	if q == nil {
		if q = p.add(from, now); q == nil {
			return false
		}
	} else {
		q.gap = now.Sub(q.last())
	}
	q.begun[q.n%pollsKept] = now
	q.n++
	q.acted = q.told
	q.says = says
	if says == peerDown && p.draining || says == peerUp && !p.draining {
		q.agree++
	} else {
		q.agree = 0
	}
	q.out = q.out || p.draining
	if !p.draining {
		p.sight.back(now) // the first that hears of it
	}
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
			if q.isGone(now) {
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

func (q *pollers) last() time.Time { return q.begun[(q.n-1)%pollsKept] }

// isGone reports whether q will not poll again, as far as can be told.
func (q *pollers) isGone(now time.Time) bool {
	silent := now.Sub(q.last())
	return silent > pollForget || !q.out && silent > max(pollGone, 3*q.gap)
}

// isRegular reports whether q polls time and again: no person's curl.
func (q *pollers) isRegular(now time.Time) bool {
	return q.n > 1 && q.gap <= pollForget && !q.isGone(now)
}

// takes returns how long q took for its last polls gaps apart, the one that is open included.
// It is 0 when q has not polled often enough.
func (q *pollers) takes(gaps int, now time.Time) time.Duration {
	n := min(gaps, pollsKept-1)
	if q.n <= n {
		return 0
	}
	closed := q.last().Sub(q.begun[(q.n-1-n)%pollsKept])
	open := now.Sub(q.begun[(q.n-n)%pollsKept])
	return max(closed, open) * time.Duration(gaps) / time.Duration(n)
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

// canConfirm returns nil when all who poll are expected to act on a drain within the time
// given, and at least one does.
func (p *polls) canConfirm(within time.Duration, d demand, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	gaps := d.answers() + 1
	err := errNobodyPolls
	var slow []string
	for a, q := range p.pollers {
		if !q.isRegular(now) {
			continue
		}
		switch takes := q.takes(gaps, now); {
		case takes == 0:
			slow = append(slow, fmt.Sprintf("%s has polled %d times, the last two %v apart: how fast it acts is known after %d",
				pollerName(a), q.n, q.gap.Round(time.Millisecond), min(gaps, pollsKept-1)+1))
		case takes > within:
			slow = append(slow, fmt.Sprintf("%s polls every %v: to act on a drain takes it %v, and Options.AnnounceTimeout is %v",
				pollerName(a), (takes/time.Duration(gaps)).Round(time.Millisecond), takes.Round(time.Millisecond), within))
		default:
			err = nil
		}
	}
	if slow != nil {
		slices.Sort(slow)
		return fmt.Errorf("%s: let it poll more often, every 10 ms", slow[0])
	}
	return err
}

// drain makes polls say "draining", and waits until every peer that polls regularly has acted
// on it: each address has polled once more after enough answers, or says so. Announcing the
// same again waits for newcomers only.
func (p *polls) drain(ctx context.Context, d demand) error {
	p.set(true)
	return p.wait(ctx, func(now time.Time) error {
		err := p.missing(d, now)
		if err == nil {
			p.sight.out(now)
		}
		return err
	})
}

// ready makes polls say "ready", and waits until every peer that was told to drain has this
// process back. It returns at once when none was.
func (p *polls) ready(ctx context.Context, d demand) error {
	p.set(false)
	return p.wait(ctx, func(now time.Time) error { return p.absent(d, now) })
}

// set changes what polls are answered.
func (p *polls) set(draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining == draining {
		return
	}
	p.draining = draining
	p.outs, p.unproven = 0, false
	if draining {
		p.sight.since = time.Time{}
	}
	now := time.Now()
	for _, q := range p.pollers {
		q.told, q.acted, q.agree, q.due = 0, 0, 0, time.Time{}
		if q.out && !q.isGone(now) {
			p.outs++
		}
	}
}

// heard waits until somebody polls, or has polled lately.
func (p *polls) heard(ctx context.Context) error {
	return p.wait(ctx, func(now time.Time) error {
		for _, q := range p.pollers {
			if !q.isGone(now) {
				return nil
			}
		}
		return errNobodyPolls
	})
}

// errNobodyPolls is what the methods that wait wrap; the signals add what to do.
var errNobodyPolls = errors.New("nobody polls")

// missing returns nil when all have acted on a drain, else who has not. It is called with mu
// held.
func (p *polls) missing(d demand, now time.Time) error {
	err := errNobodyPolls
	var late []string
	for a, q := range p.pollers {
		switch {
		case !q.isRegular(now):
		case q.says == peerSilent && q.acted >= d.answers(), q.says == peerDown && q.agree >= d.agreeing():
			err = nil
		default:
			late = append(late, fmt.Sprintf("%s has polled %d of %d times since", pollerName(a), q.acted, d.answers()))
		}
	}
	if late != nil {
		slices.Sort(late)
		return fmt.Errorf("%s: let it poll more often, every 10 ms", late[0])
	}
	return err
}

// absent returns nil when all who were told to drain have this process back, or are gone; else
// who has not. It is called with mu held.
func (p *polls) absent(d demand, now time.Time) error {
	var late []string
	for a, q := range p.pollers {
		q.out = q.out && !q.isGone(now) && !p.hasBack(q, d, now)
		if q.out {
			late = append(late, fmt.Sprintf("%s does not have this process back, and has polled %d of %d times since", pollerName(a), q.acted, d.answers()))
		}
	}
	if late != nil {
		slices.Sort(late)
		return errors.New(late[0])
	}
	return nil
}

// hasBack reports whether q sends requests here again: it says so, or enough answers, and the
// requests after them, prove it. mu is held.
func (p *polls) hasBack(q *pollers, d demand, now time.Time) bool {
	switch {
	case q.says != peerSilent:
		return q.says == peerUp && q.agree >= d.agreeing()
	case q.acted < d.answers():
		return false
	case !d.proof || p.sight.gate == nil:
		return true
	}
	_, entered := p.sight.gate.Requests()
	if q.due.IsZero() {
		q.due, q.entered = now, entered
	}
	if entered == q.entered {
		q.still = now
	}
	// Of two that were told nobody knows which one sends.
	if p.outs == 1 && d.each == 1 && p.sight.proves(entered-q.entered, now.Sub(q.still)) {
		return true
	}
	if now.Sub(q.due) < sightTimeout {
		return false
	}
	p.unproven = true
	return true
}

// tookUnproven reports whether, since this process is ready again, any peer was taken for back
// without a proof.
func (p *polls) tookUnproven() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unproven
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

func pollerName(a netip.Addr) string {
	if !a.IsValid() {
		return "the Unix socket"
	}
	return a.String()
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
