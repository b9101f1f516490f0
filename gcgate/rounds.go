package gcgate

import (
	"log/slog"
	"slices"
	"time"
)

// Times of a collection.
const (
	tick         = time.Millisecond // between two looks while waiting
	markTick     = tick / 4         // and while marking: its end is between two of them, and so are requests
	readyTimeout = time.Second      // in StateReadying; the turn is held for longer if need be

	// hardGrace is for how long a collection is announced and drained whatever the heap: the defaults of both bounds, for which
	// the net leaves room.
	hardGrace = 200 * time.Millisecond

	usableLimit = time.Second           // of a wait for a signal that could be used the last time
	usableLook  = 10 * time.Millisecond // between two looks at it

	slowReturn   = 2 * time.Second  // of a peer that has this process back, is worth a warning
	overdueAfter = 10 * time.Second // or ten times what was expected
	longestLook  = time.Second      // of the time between two looks while marking: in the rest of it this process stood still
)

// round is one collection, from StateWanting to StateServing.
type round struct {
	reason    Reason
	lease     Lease // nil: none
	alone     bool  // Turns are configured, and this collection goes without one
	expected  time.Duration
	patience  time.Duration // with those told, at least
	told      []*announcer  // those asked to drain
	drains    []*notice     // what each of told was asked
	readies   []*notice     // what each of told was asked in the end: to have this process back
	refused   bool          // new requests, for a time
	announced time.Time     // when
	usual     float64       // requests a second before the announcement
	rate      float64       // of these, without those that no peer can send elsewhere
	before    uint32        // requests that had entered by the announcement
	watched   time.Time     // since when no request should come, as each peer has said; zero: not yet
	entered   uint32        // requests by then, but for those that no peer can send elsewhere
	unheeded  bool          // the peers confirmed a drain, and requests kept coming
	met       uint64        // requests that the mark phase met
}

// rounds goes through one collection after the other. Its fields are owned by the control goroutine,
// or do not change once that runs.
type rounds struct {
	options    *Options
	log        *slog.Logger
	requests   *counter
	status     *status
	waiters    *waiters
	calls      *calls
	events     *events
	heap       *heapWatch
	turns      *turnTaker
	announcers []*announcer
	stop       <-chan struct{} // closed when the gate stops

	lead     time.Duration // from an announcement to the collection, moving average
	entered  time.Time     // when the state began
	heedless time.Time     // no wait before for peers that do not heed a drain: the last ones did not help
	futile   time.Duration // of waits for such peers, since one helped
	unheard  unheard
	halves   uint64 // half requests that mark phases met, in all
}

// run takes the process through the states, and back to StateServing whatever happens.
func (rs *rounds) run(reason Reason) {
	r := &round{reason: reason}
	var waiting []uint64
	collected := false
	rs.to(StateWanting, r)
	if rs.takeTurn(r) {
		waiting = rs.waiters.ids() // who asks from now on wants another collection
		r.expected = rs.heap.expected()
		if rs.announce(r) {
			rs.drain(r)
		}
		rs.heap.undrained = rs.heap.policy.announces() && !r.refused && !slices.ContainsFunc(r.drains, (*notice).acted)
		if !isClosed(rs.stop) && !isLost(r.lease) {
			collected = rs.collect(r)
		}
		rs.ready(r)
		rs.releaseTurn(r)
	}
	rs.to(StateServing, r)
	if collected { // else the next round is for them; Stop answers them itself
		rs.heap.turns.forget()
		rs.waiters.answer(waiting, nil)
	}
}

// takeTurn waits until this replica may collect. It reports false when it shall not.
func (rs *rounds) takeTurn(r *round) (ok bool) {
	r.lease, r.alone, ok = rs.turns.take(&r.reason)
	if r.alone {
		rs.status.update(func(s *Stats) { s.WithoutTurn++ })
	}
	return ok
}

// releaseTurn releases the turn, if any, once the peers have this process back. The gate does not
// wait for it; but it does so when it stops, too: to a peer that has this process out, a gate that
// has stopped is as far away as any.
func (rs *rounds) releaseTurn(r *round) {
	if r.lease == nil {
		return
	}
	if isLost(r.lease) {
		rs.status.update(func(s *Stats) { s.LostTurns++ })
		rs.heap.warn("lost", "gcgate: the turn was lost while it was held; another replica may have collected at the same time")
	}
	gone := goneBound(rs.heap.turnStats().Spare)
	rs.turns.releaseAfter(r.lease, r.refused || len(r.told) > 0, func() bool { return rs.awaitReturn(r, gone) })
}

// awaitReturn waits until all peers that must not lose two replicas have this one back, or are not
// waited for any longer, or until the turn is lost. It reports whether all have it back that may
// have had it out. The round does not change any more.
func (rs *rounds) awaitReturn(r *round, gone time.Duration) (returned bool) {
	defer rs.turns.heldUp.clear()
	returned = true
	for i, ready := range r.readies {
		if a := r.told[i]; !a.is.SafeWithoutTurn && !isLost(r.lease) {
			returned = rs.awaitPeer(r, a, ready, gone) && returned
		}
	}
	return returned && !isLost(r.lease)
}

// awaitPeer is awaitReturn for one peer.
func (rs *rounds) awaitPeer(r *round, a *announcer, ready *notice, gone time.Duration) (returned bool) {
	returned = a.awaitReturn(ready, gone, rs.stop, r.lease.Lost(), func(waited time.Duration, err error) {
		if waited < heldUpAfter {
			return
		}
		rs.turns.heldUp.set(holdsUp(a.signal, err), ready.posted)
		a.warnings.ongoing("holds",
			"gcgate: this replica holds the turn because a peer does not have it back; the others cannot collect",
			"held", waited.Round(time.Second), "error", err)
	})
	took := time.Since(ready.posted)
	if returned {
		if took > slowReturn {
			a.warnings.lasting("slow", lastsEvery,
				"gcgate: a peer took long to have this process back, and no other replica could collect", "took", took,
				"fix", "let it poll faster while a server is down (HAProxy: downinter and fastinter; Envoy: unhealthy_interval), "+
					"and let no monitor or HEALTHCHECK use its path, because the gate waits for these, too")
		} else {
			a.warnings.over("gcgate: the peer has this replica back in time again", "slow")
		}
		return true
	}
	out, err := a.outstanding(ready)
	if out && !isLost(r.lease) {
		a.warnings.lasting("gives up", warnEvery,
			"gcgate: a peer does not have this replica back; the turn goes to the next one, without this signal",
			"held", took.Round(time.Second), "error", err)
	}
	return !out
}

// holdsUp says that a peer holds the turn up, and why.
func holdsUp(s Signal, err error) string {
	if err == nil {
		return s.String()
	}
	return s.String() + ": " + err.Error()
}

// to changes the state.
func (rs *rounds) to(s State, r *round) {
	now := time.Now()
	old := State(rs.status.state.Swap(uint32(s)))
	inFlight, _ := rs.requests.read()
	if old != StateServing {
		rs.status.update(func(s *Stats) {
			phase := s.Phases[old]
			phase.add(now.Sub(rs.entered))
			s.Phases[old] = phase
		})
	}
	rs.entered = now
	rs.log.Debug("gcgate: state", "state", s, "reason", r.reason, "heap", rs.heap.used, "live", rs.heap.thresholds.live, "in_flight", inFlight)
	rs.events.tell(rs.calls, Event{
		Time: now, State: s, Reason: r.reason, Heap: rs.heap.used, InFlight: inFlight, Expected: r.expected, WithoutTurn: r.alone,
		Overlapped: r.met,
	})
}

// pause waits, and reports whether the gate goes on.
func (rs *rounds) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-rs.stop:
		return false
	case <-t.C:
		return true
	}
}

// announce tells the peers, and waits until all have acted, or the bound. It reports false when
// there is nobody to tell, by policy or because it cannot be done without the turn.
func (rs *rounds) announce(r *round) bool {
	if !rs.heap.policy.announces() {
		return false
	}
	for _, a := range rs.announcers {
		if r.alone {
			patience, ok := a.usableWithoutTurn()
			if !ok {
				continue // another replica may be away: the peer would have nobody to send to
			}
			r.patience = max(r.patience, patience)
		}
		if rs.awaitUsable(r, a) {
			r.told = append(r.told, a)
		}
	}
	r.refused = rs.heap.policy == PolicyShed && !r.alone
	if len(r.told) == 0 && !r.refused {
		return false
	}
	r.usual, r.rate = rs.heap.gap.rate, rs.heap.gap.movingRate
	_, r.before = rs.requests.read()
	back := time.Now().Add(rs.lead + r.expected)
	rs.status.leave(back)
	rs.to(StateAnnouncing, r)
	r.announced = rs.entered
	for _, a := range r.told {
		r.drains = append(r.drains, a.post(true, back))
	}
	rs.status.refuse(r.refused)
	rs.await(r)
	return true
}

// awaitUsable reports whether to announce through a signal. One that could be used at the last collection
// and cannot now is waited for, up to the hard threshold and within bounds: the polls of a balancer that
// has no processor for a moment are late, and come again.
func (rs *rounds) awaitUsable(r *round, a *announcer) bool {
	for begin := time.Now(); ; rs.heap.sample() {
		err := a.usable(rs.options.AnnounceTimeout)
		if err == nil || !a.used || time.Since(begin) >= usableLimit || rs.heap.pastHard() || isLost(r.lease) || !rs.pause(usableLook) {
			a.use(err)
			return err == nil
		}
	}
}

// await waits until the peers have acted, or the bound.
func (rs *rounds) await(r *round) {
	timer := time.NewTimer(max(rs.options.AnnounceTimeout, r.patience))
	defer timer.Stop()
	look := time.NewTicker(heedLook)
	defer look.Stop()
	var lost <-chan struct{}
	if r.lease != nil {
		lost = r.lease.Lost()
	}
	for left := r.drains; len(left) > 0; {
		select {
		case <-left[0].done:
			left = left[1:]
		case <-look.C:
			if rs.presses(r) {
				return
			}
		case <-timer.C:
			return
		case <-lost:
			return
		case <-rs.stop:
			return
		}
	}
}

// presses reports whether the heap has reached the hard threshold in a round that takes longer than usual, and looks at it now and then. A
// round that goes alone begins there, mostly: it is the middle between that and where the runtime begins by itself.
func (rs *rounds) presses(r *round) bool {
	now := time.Now()
	if now.Sub(r.announced) < hardGrace {
		return false
	}
	if now.Sub(rs.heap.sampled) >= heedLook {
		rs.heap.sample()
	}
	if r.alone {
		return rs.heap.used >= rs.heap.thresholds.brink
	}
	return rs.heap.pastHard()
}

// collect runs the collector, beside this goroutine, until its marking is over; it reports
// false when it was not within bounds. A process that is away waits for the sweep too:
// runtime.GC sweeps a span per Gosched, and while some goroutine is always runnable on the only
// P, the network is looked at every 10 ms only (runtime/proc.go, sysmon). But under load that
// sweep may take very long, so the wait for it is as bounded as the marking was.
func (rs *rounds) collect(r *round) (ended bool) {
	rs.to(StateCollecting, r)
	rs.heap.sample() // a cycle of the runtime's own since the last look is told, and is not this one
	begin := time.Now()
	inFlight, before := rs.requests.read()
	rs.watchPeers(r)
	returned := rs.heap.beginCycle()
	overdue := max(overdueAfter, 10*r.expected)
	last, now := before, before
	looked, waited, stood := begin, time.Duration(0), time.Duration(0) // stood: this process itself, since the cycle began
	for waited < overdue && !ended && rs.pause(markTick) {
		last = now
		_, now = rs.requests.read()
		ended = rs.heap.cycleEnded()
		look := time.Since(looked)
		waited += min(look, longestLook)
		if stood += max(look-longestLook, 0); rs.heap.cycleBegan.After(looked) {
			stood = 0
		}
		looked = time.Now()
	}
	rs.countMet(r, inFlight, last-before, now-last)
	if ended {
		if rs.status.away() {
			sweep := time.NewTimer(time.Since(rs.heap.cycleBegan))
			select {
			case <-returned:
			case <-sweep.C:
			case <-rs.stop:
			}
			sweep.Stop()
		}
		rs.heap.overdueEnded()
		rs.heap.predict.learn(time.Since(rs.heap.cycleBegan)-stood, rs.heap.thresholds.live)
	} else if !isClosed(rs.stop) {
		rs.heap.warnings.lasting("overdue", warnEvery,
			"gcgate: a collection does not end; serving meanwhile, and collecting no more until it has",
			"took", time.Since(begin), "expected", r.expected)
	}
	_, after := rs.requests.read()
	rs.keepComing(r)
	rs.status.update(func(s *Stats) {
		s.Stragglers += uint64(after - before)
		if ended {
			s.Collections[r.reason]++
		}
	})
	return ended
}

// ready tells the peers that this process is back, and waits for a moment until those have seen
// it that had acted on the announcement; awaitReturn waits for the others, beside the heap.
// Before the gate stops it waits for all: a peer may have acted although its answer did not come.
func (rs *rounds) ready(r *round) {
	rs.status.comeBack()
	if len(r.told) == 0 {
		return
	}
	rs.to(StateReadying, r)
	var wait []*notice
	for i, a := range r.told {
		n := a.post(false, time.Time{})
		r.readies = append(r.readies, n)
		select {
		case <-r.drains[i].done:
			wait = append(wait, n)
		case <-rs.stop:
			wait = append(wait, n)
		default:
		}
	}
	look := time.NewTicker(tick)
	defer look.Stop()
	for end := time.Now().Add(readyTimeout); len(wait) > 0; {
		select {
		case <-wait[0].done:
			wait = wait[1:]
		case <-look.C: // requests come again, and allocate
			if rs.heap.sample(); rs.heap.pastHard() || !time.Now().Before(end) {
				return
			}
		}
	}
}
