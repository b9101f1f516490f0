package gcgate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Times of a collection.
const (
	tick         = time.Millisecond // between two looks while waiting
	readyTimeout = time.Second      // in state Readying; the turn is held for longer if need be
	turnTimeout  = time.Second      // of one TryAcquire or Release

	// returnTimeout is how long the turn is held for peers that do not have this process back.
	// A balancer that needs longer has lost it, or is gone.
	returnTimeout = time.Minute
	slowReturn    = 2 * time.Second        // is worth a warning
	turnPause     = 10 * time.Millisecond  // between two calls of TryAcquire: at first, and under load
	turnPauseMax  = 500 * time.Millisecond // doubled up to this while it fails, or nothing presses
	gapPause      = 100 * time.Millisecond // after the turn was not to be had in a gap
	calmFor       = time.Minute            // this far away the hard threshold does not press
	overdueAfter  = 10 * time.Second       // or ten times what was expected
)

// round is one collection, from Wanting to Serving.
type round struct {
	reason   Reason
	lease    Lease // nil: none
	alone    bool  // Turns are configured, and this collection goes without one
	expected time.Duration
	told     []*announcer // that were asked to drain
	wishes   []*wish      // what each of told was asked
	returns  []*wish      // what each of told was asked in the end: to have this process back
	refused  bool         // new requests, for a time
}

// collection takes the process through the states, and back to Serving whatever happens.
func (g *Gate) collection(reason Reason) {
	r := &round{reason: reason}
	g.mu.Lock()
	asked := slices.Collect(maps.Keys(g.waiters)) // who asks from now on wants another collection
	g.mu.Unlock()
	collected := false
	g.to(Wanting, r)
	if g.takeTurn(r) {
		r.expected = g.predict.expect(g.at.live)
		if g.announce(r) {
			g.drain(r)
		}
		if !g.stopping.Load() && !r.lost() {
			collected = g.collect(r)
		}
		g.ready(r)
		g.giveBack(r)
	}
	g.to(Serving, r)
	if !collected { // the next round is for them; after Stop there is none, see leave
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range asked {
		if w, waits := g.waiters[id]; waits {
			w <- nil
			delete(g.waiters, id)
		}
	}
}

// to changes the state.
func (g *Gate) to(s State, r *round) {
	now := time.Now()
	old := State(g.state.Swap(uint32(s)))
	inFlight, _ := g.requests.read()
	if old != Serving {
		g.mu.Lock()
		d := g.stats.Phases[old]
		d.add(now.Sub(g.entered))
		g.stats.Phases[old] = d
		g.mu.Unlock()
	}
	g.entered = now
	g.log.Debug("gcgate: state", "state", s, "reason", r.reason, "heap", g.used, "live", g.at.live, "in_flight", inFlight)
	if g.options.OnEvent != nil {
		defer g.calls.begin("Options.OnEvent")()
		g.options.OnEvent(Event{Time: now, State: s, Reason: r.reason, Heap: g.used, InFlight: inFlight, Expected: r.expected, WithoutTurn: r.alone})
	}
}

// pause waits, and reports whether the gate goes on.
func (g *Gate) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-g.stop:
		return false
	case <-t.C:
		return true
	}
}

// turnAnswer is what TryAcquire returned.
type turnAnswer struct {
	lease Lease
	err   error
}

// takeTurn waits until this replica may collect. It reports false when it shall not: the gate
// stops, or the reason to collect is gone.
func (g *Gate) takeTurn(r *round) bool {
	if g.options.Turns == nil {
		return !g.stopping.Load()
	}
	var last error
	for pause := turnPause; !g.stopping.Load(); pause = min(2*pause, turnPauseMax) {
		a, ok := g.tryAcquire(r)
		held := errors.Is(a.err, ErrHeld)
		switch {
		case !ok: // the hard threshold was reached meanwhile
			if last == nil {
				last = errNoAnswer
			}
		case a.err == nil:
			r.lease = a.lease
			return true
		default:
			last = a.err
			if !held {
				g.warn("turns", "gcgate: cannot take the turn; waiting for it up to the hard threshold", "error", a.err)
			}
		}
		if r.reason == IdleGap {
			g.holdOff = time.Now().Add(gapPause)
			if g.calm() {
				g.holdOff = time.Now().Add(turnPauseMax)
			}
			return false
		}
		for begin := time.Now(); !g.stopping.Load() && !g.pastHard(r); {
			if held && !g.calm() {
				pause = turnPause // it may be free at any time, and is needed
			}
			left := pause - time.Since(begin)
			if left <= 0 {
				break
			}
			g.look(min(left, g.wantingInterval()), nil)
		}
		if g.pastHard(r) && !g.stopping.Load() {
			g.goAlone(r, last)
			return true
		}
	}
	return false
}

// goAlone has the round go on without the turn, and says why there is none.
func (g *Gate) goAlone(r *round, err error) {
	switch {
	case g.holding.Load() > 0:
		g.warn("alone", "gcgate: this process itself holds the turn yet, since a peer does not have it back from the last collection; collecting without one", "heap", g.used, "hard", g.at.hard)
	case errors.Is(err, ErrHeld):
		g.warn("alone", "gcgate: another replica holds the turn for too long; collecting without it", "heap", g.used, "hard", g.at.hard)
	default:
		g.warn("alone", "gcgate: no turn to be had; collecting without it", "heap", g.used, "hard", g.at.hard, "error", err)
	}
	r.alone = true
	g.count(func(s *Stats) { s.WithoutTurn++ })
}

// pastHard reports whether the turn must not be waited for any longer.
func (g *Gate) pastHard(r *round) bool {
	if g.charged && g.used >= g.at.hard {
		r.reason = Hard
		return true
	}
	return false
}

// calm reports whether the hard threshold is far away at the present rate, so that the turn may
// as well come a little later.
func (g *Gate) calm() bool {
	return !g.charged || float64(g.used)+g.rate*calmFor.Seconds() < float64(g.at.hard)
}

// wantingInterval is the time to the next sample while the turn is waited for.
func (g *Gate) wantingInterval() time.Duration { return max(g.ahead(g.at.hard), sampleIdle) }

var errNoAnswer = errors.New("TryAcquire of Turns has not returned: it must return when its context ends")

// tryAcquire asks for the turn once, but does not wait for the answer past the hard
// threshold. A turn that comes later goes back at once.
func (g *Gate) tryAcquire(r *round) (turnAnswer, bool) {
	if g.asking != nil {
		// The answer of the last time may still be out: the interface promises one at a time.
		select {
		case <-g.asking:
		default:
			return turnAnswer{err: errNoAnswer}, true
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), turnTimeout)
	var a turnAnswer // valid once asking is closed
	asking := make(chan struct{})
	g.asking = asking
	g.others.Go(func() {
		defer close(asking)
		defer cancel()
		end := g.calls.begin(fmt.Sprintf("TryAcquire of Turns %T", g.options.Turns))
		a.lease, a.err = g.options.Turns.TryAcquire(ctx)
		end()
		if a.err == nil && a.lease == nil {
			a.err = errors.New("Turns returned no lease and no error: it must return one of them")
		}
	})
	for {
		g.look(g.wantingInterval(), asking)
		select {
		case <-asking:
			g.asking = nil
			return a, true
		default:
		}
		if g.stopping.Load() || g.pastHard(r) {
			cancel()
			g.others.Go(func() {
				if <-asking; a.err == nil {
					g.release(a.lease)
				}
			})
			return turnAnswer{}, false
		}
	}
}

// lost reports whether the turn was lost: another replica may be collecting. Before the
// collection that ends the round; at the hard threshold the next one then goes without a turn,
// if there is none to be had.
func (r *round) lost() bool {
	if r.lease == nil {
		return false
	}
	select {
	case <-r.lease.Lost():
		return true
	default:
		return false
	}
}

// giveBack releases the turn, if any, once the peers have this process back, and after
// HoldTurn. The gate does not wait for it; but it does so when it stops, too: to a peer that has
// this process out, a gate that has stopped is as far away as any.
func (g *Gate) giveBack(r *round) {
	if r.lease == nil {
		return
	}
	if r.lost() {
		g.count(func(s *Stats) { s.LostTurns++ })
		g.warn("lost", "gcgate: the turn was lost while it was held; another replica may have collected at the same time")
	}
	g.holding.Add(1)
	g.backs.Go(func() {
		defer g.holding.Add(-1)
		g.awaitReturn(r)
		if g.options.HoldTurn > 0 && (r.refused || len(r.told) > 0) {
			time.Sleep(g.options.HoldTurn)
		}
		g.release(r.lease)
	})
}

// awaitReturn waits until all peers that must not lose two replicas have this one back, or the
// bound, or until the turn is lost.
func (g *Gate) awaitReturn(r *round) {
	begin := time.Now()
	timer := time.NewTimer(returnTimeout)
	defer timer.Stop()
	for i, w := range r.returns {
		if r.told[i].safe {
			continue
		}
		select {
		case <-w.done:
			took := time.Since(begin)
			if slow := took > slowReturn; r.told[i].slow.Swap(slow) != slow && slow {
				r.told[i].log.Warn("gcgate: a peer took long to have this process back, and no other replica could collect meanwhile: let it poll faster while a server is down (downinter and fastinter in HAProxy)", "took", took)
			}
		case <-r.lease.Lost():
			return
		case <-timer.C:
			r.told[i].log.Warn("gcgate: a peer does not have this process back; the turn is given back all the same, and this signal is silent until it has", "after", returnTimeout)
			return
		}
	}
}

func (g *Gate) release(l Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), turnTimeout)
	defer cancel()
	defer g.calls.begin(fmt.Sprintf("Release of Lease %T", l))()
	if err := l.Release(ctx); err != nil {
		g.log.Warn("gcgate: cannot give the turn back; the others must wait until it expires", "error", err)
	}
}

// announce tells the peers, and waits until all have acted, or the bound. It reports false when
// there is nobody to tell, by policy or because it cannot be done without the turn.
func (g *Gate) announce(r *round) bool {
	if g.policy != Drain && g.policy != Shed {
		return false
	}
	for _, a := range g.announcers {
		if r.alone && !a.safe {
			continue // another replica may be away: the peer would have nobody to send to
		}
		if a.usable(g.options.AnnounceTimeout) {
			r.told = append(r.told, a)
		}
	}
	r.refused = g.policy == Shed && !r.alone
	if len(r.told) == 0 && !r.refused {
		return false
	}
	back := time.Now().Add(g.lead + r.expected)
	g.back.Store(max(int64(back.Sub(g.epoch)), 1))
	g.to(Announcing, r)
	for _, a := range r.told {
		r.wishes = append(r.wishes, a.want(true, back))
	}
	g.refuse.Store(r.refused)
	g.await(r)
	return true
}

// await waits until the peers have acted, or the bound.
func (g *Gate) await(r *round) {
	timer := time.NewTimer(g.options.AnnounceTimeout)
	defer timer.Stop()
	var lost <-chan struct{}
	if r.lease != nil {
		lost = r.lease.Lost()
	}
	for _, w := range r.wishes {
		select {
		case <-w.done:
		case <-timer.C:
			return
		case <-lost:
			return
		case <-g.stop:
			return
		}
	}
}

// drain waits until no request was in flight nor came for QuietFor, or the bound.
func (g *Gate) drain(r *round) {
	g.to(Draining, r)
	begin := time.Now()
	quiet := begin
	_, seen := g.requests.read()
	for now := begin; now.Sub(begin) < g.options.DrainTimeout && !r.lost(); now = time.Now() {
		inFlight, entered := g.requests.read()
		if inFlight > 0 || entered != seen {
			quiet = now
		} else if now.Sub(quiet) >= g.options.QuietFor {
			break
		}
		seen = entered
		if !g.pause(min(tick, g.options.QuietFor)) {
			return
		}
	}
	// The next announcement tells the time that announcing takes, too.
	g.lead += (time.Since(g.entered) - g.lead) / 4
}

// collect runs the collector, beside this goroutine, until its marking is over; it reports
// false when it was not within bounds. A process that is away waits for the sweep too:
// runtime.GC sweeps a span per Gosched, and while some goroutine is always runnable on the only
// P, the network is looked at every 10 ms only (runtime/proc.go, sysmon). But under load that
// sweep may take very long, so the wait for it is as bounded as the marking was.
func (g *Gate) collect(r *round) (ended bool) {
	g.to(Collecting, r)
	g.sample() // a cycle of the runtime's own since the last look is told, and is not this one
	begin := time.Now()
	_, before := g.requests.read()
	returned := make(chan struct{})
	g.running, g.marked = returned, false
	cycles := g.last.cycles
	go func() { // not counted in others: it may block for long after marking
		defer close(returned)
		g.gc.collect()
	}()
	overdue := max(overdueAfter, 10*r.expected)
	for waited := time.Duration(0); waited < overdue && !ended && g.pause(tick); waited = time.Since(begin) {
		now := g.gc.read()
		if ended = now.cycles > cycles; ended {
			g.last.cycles, g.last.automatic, g.marked = now.cycles, now.automatic, true
			g.rebase(now)
		}
	}
	if marked := time.Since(begin); ended {
		if g.away() {
			sweep := time.NewTimer(marked)
			select {
			case <-returned:
			case <-sweep.C:
			case <-g.stop:
			}
			sweep.Stop()
		}
		g.predict.learn(time.Since(begin), g.at.live)
	} else if !g.stopping.Load() {
		g.warn("overdue", "gcgate: a collection does not end; serving meanwhile, and collecting no more until it has", "took", marked, "expected", r.expected)
	}
	_, after := g.requests.read()
	g.count(func(s *Stats) {
		s.Stragglers += uint64(after - before)
		if ended {
			s.Collections[r.reason]++
		}
	})
	return ended
}

// returned reports whether the last collect is over, its sweep included.
func (g *Gate) returned() bool {
	if g.running == nil {
		return true
	}
	select {
	case <-g.running:
		g.running = nil
		return true
	default:
		return false
	}
}

// ready tells the peers that this process is back, and waits for a moment until those have seen
// it that had acted on the announcement; awaitReturn waits for the others, beside the heap.
// Before the gate stops it waits for all: a peer may have acted although its answer did not come.
func (g *Gate) ready(r *round) {
	g.refuse.Store(false)
	g.back.Store(0)
	if len(r.told) == 0 {
		return
	}
	g.to(Readying, r)
	var wait []*wish
	for i, a := range r.told {
		w := a.want(false, time.Time{})
		r.returns = append(r.returns, w)
		select {
		case <-r.wishes[i].done:
			wait = append(wait, w)
		case <-g.stop:
			wait = append(wait, w)
		default:
		}
	}
	timer := time.NewTimer(readyTimeout)
	defer timer.Stop()
	for _, w := range wait {
		select {
		case <-w.done:
		case <-timer.C:
			return
		}
	}
}

func (g *Gate) count(f func(*Stats)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.stats)
}
