// Package polled tracks peers that poll a process, such as load balancers. They learn of a drain only
// from the answer to the next poll.
//
// A peer is an address, because connections come and go. One that begins a poll has acted on the
// answers before. Peers remembers 64 addresses, and answers "ready" to any other.
package polled

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	// forgetAfter is when any silent peer expires.
	forgetAfter = 30 * time.Second

	// expireAfter is when a casual peer expires, or one that polled fast and was not asked to
	// drain.
	expireAfter = 3 * time.Second

	// Ready waits for listenFor for an expired peer, because this process may have stalled.
	listenFor = time.Second

	pollsKept = 16
	maxPeers  = 64

	waitTick  = 50 * time.Millisecond // between two looks at silent peers
	quietTick = 2 * time.Millisecond  // between two looks at requests
	quietFor  = 10 * time.Millisecond // without a request: the peers have acted
)

// ErrNoPolls is in the errors of [Peers] if nothing polls.
var ErrNoPolls = errors.New("no polls")

// Says is what a peer says of this process.
type Says uint8

const (
	SaysNothing Says = iota // its answers tell
	SaysUp                  // it sends requests here
	SaysDown                // it sends none
)

// Demand is what it takes to make a peer act.
type Demand struct {
	// Answers of the same kind in a row make one poller act. Default: 0, which is 1.
	Answers int

	// Pollers poll from one address by turns. Default: 0, which is 1.
	Pollers int

	// Assumed says that Answers is a guess, so Ready waits for 30 without a proof. Default: false.
	Assumed bool

	// InAnswers says that peers also see a drain in answers to requests of a [Counter]. Default:
	// false.
	InAnswers bool
}

func (d Demand) pollers() int { return max(d.Pollers, 1) }

// answers is how many reach each poller of an address d.Answers times.
func (d Demand) answers() int { return (max(d.Answers, 1)+1)*d.pollers() - 1 }

// agreeing polls in a row cover each poller.
func (d Demand) agreeing() int { return 2*d.pollers() - 1 }

// Peers remembers which peers poll, and which answers they got. The zero value says "ready". Any
// goroutine may use it.
type Peers struct {
	mu    sync.Mutex // guards all that follows
	peers map[netip.Addr]*peer
	proof proof

	// Since the answers last changed.
	draining bool
	fall     int           // answers that make a peer act on a Drain
	outs     int           // addresses of balancers that were out
	unproven bool          // one counts as back without a proof
	changed  chan struct{} // closed at the next poll; nil: no call waits

	// A Drain with InAnswers.
	entered uint32    // at the last look
	quiet   time.Time // since when; zero: no look yet
}

func (p *Peers) Attach(c Counter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proof.attach(c, time.Now())
	for _, q := range p.peers {
		q.due = time.Time{}
	}
}

// Begin notes that a poll begins, and returns whether to answer that this process is draining. Call
// [Peers.Answered] when the answer is written.
func (p *Peers) Begin(from netip.Addr, says Says) (draining bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.peers[from]
	if q == nil {
		if q = p.add(from, now); q == nil {
			return false
		}
	}
	q.begin(now, says, p.draining)
	if q.casual && q.recurs() {
		q.casual = false
		p.outs++
	}
	if p.draining {
		p.proof.checkCeased(now)
	} else {
		p.proof.endWindow(now)
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	return p.draining
}

func (p *Peers) add(from netip.Addr, now time.Time) *peer {
	if len(p.peers) >= maxPeers {
		for a, q := range p.peers {
			if q.isExpired(now) {
				delete(p.peers, a)
			}
		}
		if len(p.peers) >= maxPeers {
			return nil
		}
	}
	if p.peers == nil {
		p.peers = make(map[netip.Addr]*peer)
	}
	q := new(peer)
	p.peers[from] = q
	return q
}

// Answered notes that Begin's answer was written. An outdated one does not count.
func (p *Peers) Answered(from netip.Addr, draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.peers[from]; q != nil && draining == p.draining {
		q.answered++
	}
}

// Drain makes Begin say "draining", and waits until every regular peer says so, or has polled once
// more after enough answers.
func (p *Peers) Drain(ctx context.Context, d Demand) error {
	p.set(true, d)
	pause := waitTick
	if d.InAnswers {
		pause = quietTick
	}
	return p.wait(ctx, pause, func(now time.Time) error {
		err := p.missing(d, now)
		if err != nil && d.InAnswers && p.quietInAnswers(now) {
			err = nil
		}
		if err == nil {
			p.proof.allActed(now)
		}
		return err
	})
}

// Ready makes Begin say "ready", and waits until every peer that was asked to drain has expired, or
// has this process back. A peer may say so. Otherwise it takes enough answers, and with a [Counter]
// one of these after them:
//
//   - At least eight requests, four times as often as while the peer had this process out. This needs
//     a single address with one poller.
//   - 10 s, and 30 answers if they are [Demand].Assumed. [Peers.Unproven] reports it.
func (p *Peers) Ready(ctx context.Context, d Demand) error {
	p.set(false, d)
	begin := time.Now()
	looked := begin
	return p.wait(ctx, waitTick, func(now time.Time) error {
		if stalled := now.Sub(looked) - 2*waitTick; stalled > 0 {
			begin = begin.Add(stalled)
		}
		looked = now
		err := p.awaited(d, now, now.Sub(begin) >= listenFor)
		if err == nil {
			p.proof.serve(now)
		}
		return err
	})
}

func (p *Peers) set(draining bool, d Demand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if draining {
		p.fall = d.answers()
	}
	if p.draining != draining {
		p.draining = draining
		p.outs, p.unproven, p.quiet = 0, false, time.Time{}
		if draining {
			p.proof.drainStarts(now)
		}
		for _, q := range p.peers {
			q.casual = !draining && q.polledCasually(p.fall)
			q.answered, q.acted, q.agree, q.due = 0, 0, 0, time.Time{}
			if q.out && !q.casual && !q.isExpired(now) {
				p.outs++
			}
		}
	}
	if draining && d.InAnswers && p.proof.counter != nil {
		for _, q := range p.peers {
			q.out = q.out || !q.isExpired(now)
		}
	}
}

// Heard waits until a peer polls, or has polled lately.
func (p *Peers) Heard(ctx context.Context) error {
	return p.wait(ctx, waitTick, func(now time.Time) error {
		for _, q := range p.peers {
			if !q.isExpired(now) {
				return nil
			}
		}
		return ErrNoPolls
	})
}

func (p *Peers) missing(d Demand, now time.Time) error {
	err := ErrNoPolls
	var late []string
	for a, q := range p.peers {
		switch {
		case !q.isRegular(now):
		case q.hasActed(d):
			err = nil
		default:
			late = append(late, fmt.Sprintf("%s has polled %d of %d times since", peerName(a), q.acted, d.answers()))
		}
	}
	return firstSlow(err, late)
}

func (p *Peers) quietInAnswers(now time.Time) bool {
	if p.proof.counter == nil {
		return false
	}
	if _, n := p.proof.counter.Requests(); n != p.entered || p.quiet.IsZero() {
		p.entered, p.quiet = n, now
	}
	regular := false
	for _, q := range p.peers {
		regular = regular || q.isRegular(now)
	}
	return regular && now.Sub(p.quiet) >= quietFor
}

// awaited returns nil if all drained peers have this process back, or have expired. mu is held.
func (p *Peers) awaited(d Demand, now time.Time, listened bool) error {
	var late []string
	for a, q := range p.peers {
		q.out = q.out && !(listened && q.isExpired(now)) && !p.hasBack(q, d, now)
		if q.out {
			late = append(late, fmt.Sprintf("%s has polled %d of %d times since, the last time %v ago",
				peerName(a), q.acted, d.answers(), now.Sub(q.last()).Round(time.Millisecond)))
		}
	}
	if late == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", gcgate.ErrNotBack, slices.Min(late))
}

// hasBack reports whether q sends requests here again. mu is held.
func (p *Peers) hasBack(q *peer, d Demand, now time.Time) bool {
	switch {
	case q.says != SaysNothing:
		return q.says == SaysUp && q.agree >= d.agreeing()
	case q.acted < d.answers():
		return false
	case p.proof.counter == nil:
		return true
	}
	_, entered := p.proof.counter.Requests()
	if q.due.IsZero() {
		q.due, q.entered = now, entered
	}
	if entered == q.entered {
		q.quietUntil = now
	}
	// With two it is not known which one sends.
	if p.outs == 1 && d.pollers() == 1 && p.proof.proves(entered-q.entered, now.Sub(q.quietUntil)) {
		return true
	}
	if now.Sub(q.due) < ProofTimeout || d.Assumed &&
		q.acted < (Demand{Answers: proofAnswers, Pollers: d.Pollers}).answers() {
		return false
	}
	p.unproven = true
	return true
}

// Unproven reports whether the last Ready returned without a proof.
func (p *Peers) Unproven() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unproven
}

func (p *Peers) wait(ctx context.Context, pause time.Duration, check func(now time.Time) error) error {
	tick := time.NewTicker(pause)
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

type peer struct {
	begun [pollsKept]time.Time // a ring
	n     int
	gap   time.Duration

	// Since the state last changed.
	answered int
	acted    int // of these, written when the last poll began
	says     Says
	agree    int // polls in a row that say the same

	out        bool      // it may not have this process back
	casual     bool      // not a balancer (polledCasually)
	due        time.Time // should be back by the answers; zero: not yet
	entered    uint32
	quietUntil time.Time
}

func (q *peer) begin(now time.Time, says Says, draining bool) {
	if q.n > 0 {
		q.gap = now.Sub(q.last())
	}
	q.begun[q.n%pollsKept] = now
	q.n++
	q.acted = q.answered
	q.says = says
	if says == SaysDown && draining || says == SaysUp && !draining {
		q.agree++
	} else {
		q.agree = 0
	}
	q.out = q.out || draining
}

func (q *peer) last() time.Time { return q.begun[(q.n-1)%pollsKept] }

// isExpired reports whether q will most likely not poll again.
func (q *peer) isExpired(now time.Time) bool {
	silent := now.Sub(q.last())
	if q.casual {
		return silent > expireAfter
	}
	return silent > forgetAfter || !q.out && silent > max(expireAfter, 3*q.gap)
}

func (q *peer) recurs() bool { return q.n > 1 && q.gap <= forgetAfter }

func (q *peer) isRegular(now time.Time) bool { return q.recurs() && !q.isExpired(now) }

// polledCasually reports whether q, after a drain, is a curl and not a balancer.
func (q *peer) polledCasually(answers int) bool {
	return q.out && !q.recurs() && q.says == SaysNothing && q.answered < answers
}

func (q *peer) hasActed(d Demand) bool {
	return q.says == SaysNothing && q.acted >= d.answers() || q.says == SaysDown && q.agree >= d.agreeing()
}

func peerName(a netip.Addr) string {
	if !a.IsValid() {
		return "the Unix socket"
	}
	return a.String()
}
