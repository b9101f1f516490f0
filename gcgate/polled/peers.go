package polled

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/internal/enum"
)

const (
	// forgetAfter is when any silent peer expires. It is also the longest interval that counts as
	// regular, three times the slowest polls in use.
	forgetAfter = 30 * time.Second

	// expireAfter is when a stray peer expires, and one that has not been asked to drain and that
	// polled fast. If it comes back and is asked to drain, Ready waits for it all the same.
	expireAfter = 3 * time.Second

	// listenFor is how long a Ready waits for a peer that has expired, because this process itself
	// may have stalled, and have polls to read.
	listenFor = time.Second

	// pollsKept is how many polls of a peer are remembered, to tell how fast it polls.
	pollsKept = 16

	// maxPeers bounds the addresses that are remembered. Another gets "ready" at all times.
	maxPeers = 64

	// waitTick is how often a wait looks whether a peer went silent, and quietTick whether requests
	// did.
	waitTick  = 50 * time.Millisecond
	quietTick = 2 * time.Millisecond

	// quietFor is how long no request must enter for the peers to have acted on answers.
	quietFor = 10 * time.Millisecond
)

// Says is what a peer says of this process when it polls, by a header say.
type Says uint8

const (
	SaysNothing Says = iota // its state follows from the answers that it has got
	SaysUp                  // it sends requests here
	SaysDown                // it sends none
)

var saysNames = enum.Of[Says]("polled", "what a peer says", "nothing", "up", "down")

// String returns the name in lower case.
func (s Says) String() string { return saysNames.String(s) }

// MarshalText returns the name. It fails for another value.
func (s Says) MarshalText() ([]byte, error) { return saysNames.Marshal(s) }

// UnmarshalText reads the name.
func (s *Says) UnmarshalText(text []byte) error { return saysNames.Parse(text, s) }

// Demand is what it takes to make a peer act. A negative number is an error of the methods that
// take one.
type Demand struct {
	// Answers is how many of the same kind in a row make one poller act ("fall" and "rise" in
	// HAProxy). Default: 0, which is 1.
	Answers int

	// Pollers is how many poll from one address by turns. Default: 0, which is 1.
	Pollers int

	// Prove says that Answers may not be what the peer is set to, so that Ready shall look for a
	// proof that the peer has this process back: see [Peers.Ready]. Default: false, the protocol
	// itself says how many answers it takes.
	Prove bool

	// Assumed says that Answers is a guess, because it is not known what the peer is set to. Without
	// a proof Ready then waits for 30 answers at least. Default: false.
	Assumed bool

	// InAnswers says that the peers hear of a drain in the answers to requests, too, as Envoy does,
	// and may poll slowly. To [Peers.CanConfirm] any pace is fast enough then, and [Peers.Drain] also
	// returns if no request has entered for 10 ms. It takes a [Counter]. Default: false, the peers
	// hear of it in polls only.
	InAnswers bool
}

func (d Demand) check() error {
	if d.Answers < 0 || d.Pollers < 0 {
		return fmt.Errorf("polled: a Demand of %d Answers and %d Pollers: write 1 or more, or 0 for 1", d.Answers,
			d.Pollers)
	}
	return nil
}

func (d Demand) pollers() int { return max(d.Pollers, 1) }

// answers is how many answers to an address tell each of its pollers d.Answers times.
func (d Demand) answers() int { return (max(d.Answers, 1)+1)*d.pollers() - 1 }

// agreeing is how many polls in a row must say so, for each poller to have said it.
func (d Demand) agreeing() int { return 2*d.pollers() - 1 }

// Peers remembers which peers poll, and which answers they got. The zero value says "ready". Its
// methods may be called from any goroutine; a Peers must not be copied.
type Peers struct {
	mu       sync.Mutex
	draining bool                 // guarded by mu
	peers    map[netip.Addr]*peer // by address; guarded by mu; at most maxPeers
	changed  chan struct{}        // guarded by mu; closed at the next poll, nil if no call waits

	entered  uint32    // requests at the last look of a Drain with InAnswers; guarded by mu
	quiet    time.Time // no more have entered since; zero: no look yet; guarded by mu
	proof    proof     // guarded by mu
	fall     int       // answers that make a peer act on the last Drain; guarded by mu
	outs     int       // addresses that had this process out when it was ready again, but for strays; guarded by mu
	unproven bool      // one of them was taken for back without a proof; guarded by mu
}

// peer is all who poll from one address.
type peer struct {
	begun [pollsKept]time.Time // when the last polls began; a ring
	n     int                  // polls in all
	gap   time.Duration        // between the last two

	answered int  // answers written since the state last changed
	acted    int  // of these, how many were written when the last poll began
	says     Says // with the last poll
	agree    int  // polls in a row since the state changed with which it says the same

	out        bool      // it was asked to drain, and is not known to have this process back
	stray      bool      // out, and unlikely to have acted: see isStray
	due        time.Time // when it should have this process back, going by answers; zero: not yet
	entered    uint32    // requests by then
	quietUntil time.Time // no other request had come by then
}

// Attach lets p count requests, which [Peers.Ready] may take for a proof. What another counter has
// counted before is forgotten.
func (p *Peers) Attach(c Counter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proof.attach(c, time.Now())
	for _, q := range p.peers {
		q.due = time.Time{}
	}
}

// Begin notes that from begins a poll, and what it says with it; it returns whether to answer that
// this process is draining. from is what [Allowed] returned. Call it before the answer is written,
// and [Peers.Answered] after.
func (p *Peers) Begin(from netip.Addr, says Says) (draining bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.peers[from]
	if q == nil {
		if q = p.add(from, now); q == nil {
			return false
		}
	} else {
		q.gap = now.Sub(q.last())
	}
	q.begun[q.n%pollsKept] = now
	q.n++
	q.acted = q.answered
	q.says = says
	if says == SaysDown && p.draining || says == SaysUp && !p.draining {
		q.agree++
	} else {
		q.agree = 0
	}
	q.out = q.out || p.draining
	p.unstray(q)
	if p.draining {
		p.proof.look(now)
	} else {
		p.proof.back(now) // the first that hears of it
	}
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	return p.draining
}

// add remembers from in the place of one that went silent, or not at all when full.
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

func (q *peer) last() time.Time { return q.begun[(q.n-1)%pollsKept] }

// isExpired reports whether q will most likely not poll again.
func (q *peer) isExpired(now time.Time) bool {
	silent := now.Sub(q.last())
	if q.stray {
		return silent > expireAfter
	}
	return silent > forgetAfter || !q.out && silent > max(expireAfter, 3*q.gap)
}

// recurs reports whether q polls time and again, as of its last two polls: no person's curl.
func (q *peer) recurs() bool { return q.n > 1 && q.gap <= forgetAfter }

// isRegular reports whether q polls time and again, and has not expired.
func (q *peer) isRegular(now time.Time) bool { return q.recurs() && !q.isExpired(now) }

// takes returns how long q took for its last polls gaps apart, the one that is open included.
// It is 0 when q has not polled often enough.
func (q *peer) takes(gaps int, now time.Time) time.Duration {
	n := min(gaps, pollsKept-1)
	if q.n <= n {
		return 0
	}
	closed := q.last().Sub(q.begun[(q.n-1-n)%pollsKept])
	open := now.Sub(q.begun[(q.n-n)%pollsKept])
	return max(closed, open) * time.Duration(gaps) / time.Duration(n)
}

// Answered notes that the answer to from, with what Begin returned, was written without an error.
// An answer of before the last change does not count.
func (p *Peers) Answered(from netip.Addr, draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.peers[from]; q != nil && draining == p.draining {
		q.answered++
	}
}

// CanConfirm implements gcgate.Confirmer. It returns nil if at least one peer polls, and all are
// expected to act on a drain within the time given. The error says which peer polls how seldom. It
// is [ErrNobody] if there is none. CanConfirm does not block.
func (p *Peers) CanConfirm(within time.Duration, d Demand) error {
	if err := d.check(); err != nil {
		return err
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	gaps := d.answers() + 1
	err := ErrNobody
	var slow []string
	for a, q := range p.peers {
		if !q.isRegular(now) {
			continue
		}
		switch takes := q.takes(gaps, now); {
		case d.InAnswers && p.proof.counter != nil:
			err = nil
		case takes == 0:
			slow = append(slow,
				fmt.Sprintf("%s has polled %d times, the last two %v apart: how fast it acts is known after %d",
					peerName(a), q.n, q.gap.Round(time.Millisecond), min(gaps, pollsKept-1)+1))
		case takes > within:
			slow = append(slow,
				fmt.Sprintf("%s polls every %v: to act on a drain takes it %v, and Options.AnnounceTimeout is %v",
					peerName(a), (takes/time.Duration(gaps)).Round(time.Millisecond),
					takes.Round(time.Millisecond), within))
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

// Drain makes Begin say "draining" from now on, and waits until every peer that polls regularly has
// acted on it: each address has polled once more after enough answers, or says so. The next Drain
// before a Ready waits for newcomers only. At ctx's end the error says who has not acted.
func (p *Peers) Drain(ctx context.Context, d Demand) error {
	if err := d.check(); err != nil {
		return err
	}
	p.set(true)
	p.setFall(d.answers())
	tick := waitTick
	if d.InAnswers {
		tick = quietTick
		p.markAllOut()
	}
	return p.wait(ctx, tick, func(now time.Time) error {
		err := p.missing(d, now)
		if d.InAnswers && p.isQuiet(now) && p.anyRegular(now) {
			err = nil
		}
		if err == nil {
			p.proof.out(now)
		}
		return err
	})
}

// Ready makes Begin say "ready" from now on, and waits until every peer that was asked to drain has
// this process back. It returns at once if none was. It waits no longer for a peer that has not
// polled for 30 s, nor within a second from now. For one that does not poll regularly, and got
// fewer answers than the drain takes, that is 3 s.
//
// A peer has this process back if it says so. If it says nothing it takes enough answers, and with
// [Demand].Prove one of these after them:
//
//   - More requests than can have come past the peer. These are at least eight, and four times as
//     often as while the peer had this process out, in the recent drains. That counts from when
//     requests ceased, because a peer may act later than it says. They prove nothing if two addresses
//     were asked to drain, or if several poll from one, because it is not known which of them sends.
//   - 10 s without such a proof, and 30 answers if they are [Demand].Assumed. Then [Peers.Unproven]
//     reports it.
//
// Without a [Counter] the answers suffice.
func (p *Peers) Ready(ctx context.Context, d Demand) error {
	if err := d.check(); err != nil {
		return err
	}
	p.set(false)
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

// set changes what polls are answered.
func (p *Peers) set(draining bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining == draining {
		return
	}
	p.draining = draining
	p.outs, p.unproven, p.quiet = 0, false, time.Time{}
	now := time.Now()
	if draining {
		p.proof.leave(now)
	}
	for _, q := range p.peers {
		q.stray = !draining && q.isStray(p.fall)
		q.answered, q.acted, q.agree, q.due = 0, 0, 0, time.Time{}
		if q.out && !q.stray && !q.isExpired(now) {
			p.outs++
		}
	}
}

// Heard waits until a peer polls, or has polled lately, for a gcgate.Checker. At ctx's end its
// error is ErrNobody and that of ctx.
func (p *Peers) Heard(ctx context.Context) error {
	return p.wait(ctx, waitTick, func(now time.Time) error {
		for _, q := range p.peers {
			if !q.isExpired(now) {
				return nil
			}
		}
		return ErrNobody
	})
}

// missing returns nil when all have acted on a drain, else who has not. It is called with mu
// held.
func (p *Peers) missing(d Demand, now time.Time) error {
	err := ErrNobody
	var late []string
	for a, q := range p.peers {
		switch {
		case !q.isRegular(now):
		case q.says == SaysNothing && q.acted >= d.answers(), q.says == SaysDown && q.agree >= d.agreeing():
			err = nil
		default:
			late = append(late, fmt.Sprintf("%s has polled %d of %d times since", peerName(a), q.acted, d.answers()))
		}
	}
	if late != nil {
		slices.Sort(late)
		return fmt.Errorf("%s: let it poll more often, every 10 ms", late[0])
	}
	return err
}

// awaited returns nil if all that were asked to drain have this process back, or have expired after
// Ready has listened for them. Otherwise the error names one that has not. mu is held.
func (p *Peers) awaited(d Demand, now time.Time, listened bool) error {
	var late []string
	for a, q := range p.peers {
		q.out = q.out && !(listened && q.isExpired(now)) && !p.hasBack(q, d, now)
		if q.out {
			late = append(late, fmt.Sprintf(
				"%s does not have this process back, and has polled %d of %d times since, the last time %v ago",
				peerName(a), q.acted, d.answers(), now.Sub(q.last()).Round(time.Millisecond)))
		}
	}
	if late != nil {
		slices.Sort(late)
		return notBack{errors.New(late[0])}
	}
	return nil
}

// hasBack reports whether q sends requests here again: it says so, or enough answers, and the
// requests after them, prove it. mu is held.
func (p *Peers) hasBack(q *peer, d Demand, now time.Time) bool {
	switch {
	case q.says != SaysNothing:
		return q.says == SaysUp && q.agree >= d.agreeing()
	case q.acted < d.answers():
		return false
	case !d.Prove || p.proof.counter == nil:
		return true
	}
	_, entered := p.proof.counter.Requests()
	if q.due.IsZero() {
		q.due, q.entered = now, entered
	}
	if entered == q.entered {
		q.quietUntil = now
	}
	// Of two that were asked to drain, it is not known which one sends.
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

// Unproven reports whether, since the last Ready, any peer was taken for back without a proof.
func (p *Peers) Unproven() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unproven
}

// wait returns nil when check does, or at ctx's end its last error and ctx's. It calls check
// with mu held, at each poll and every pause.
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

func peerName(a netip.Addr) string {
	if !a.IsValid() {
		return "the Unix socket"
	}
	return a.String()
}
