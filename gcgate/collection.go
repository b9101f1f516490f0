package gcgate

import (
	"slices"
	"time"
)

const (
	tick         = time.Millisecond
	markTick     = tick / 4
	readyTimeout = time.Second
	heapLook     = 10 * time.Millisecond

	// The safety limit leaves room for hardGrace beyond the hard threshold.
	hardGrace = 200 * time.Millisecond

	usableLimit = time.Second
	usableLook  = 10 * time.Millisecond

	slowReturn   = 2 * time.Second  // is worth a warning
	overdueAfter = 10 * time.Second // or ten times what was expected

	// In the rest of the time between two looks this process stalled.
	longestLook = time.Second
)

type round struct {
	reason   Reason
	expected time.Duration

	lease       Lease
	withoutTurn bool // although there are Turns

	asked     []*announcer
	drains    []*notice
	readies   []*notice
	patience  time.Duration // the least AnnounceTimeout
	refused   bool
	announced time.Time // zero: no peer was asked
	rate      float64   // before
	before    uint32

	// From confirmed on no request should enter.
	confirmed time.Time
	entered   uint32
	ignored   bool

	overlapped uint64
}

// rounds runs one collection after the other.
type rounds struct {
	*shared
	heap       *heapWatch
	turns      *turnTaker
	announcers []*announcer

	entered    time.Time
	usualDrain time.Duration // moving average
	late       latePeers
	afterDrain afterDrain
}

// run goes through one collection, and back to StateServing whatever happens:
//
//  1. takeTurn waits for the turn, at most until the heap is at the hard threshold.
//  2. announce asks the peers to drain this process, and waits until they have acted.
//  3. drain waits until the requests that are here have ended.
//  4. collect runs the collector, and waits until it has marked.
//  5. ready asks the peers to put this process back.
//  6. releaseTurn releases the turn once they have, while this process serves.
//
// Each wait has a bound, and the next step follows when it is over. If the gate stops or loses the
// turn, it leaves out what is left of steps 2 to 4.
func (rs *rounds) run(reason Reason) {
	r := &round{reason: reason}
	rs.to(StateWanting, r)
	if !rs.takeTurn(r) {
		rs.to(StateServing, r)
		return
	}
	waiting := rs.waiters.now()
	r.expected = rs.heap.expected()
	rs.announce(r)
	rs.drain(r)
	collected := rs.collect(r)
	rs.ready(r)
	rs.releaseTurn(r)
	rs.to(StateServing, r)
	if collected { // the next round answers the others
		rs.heap.turns.assumed /= 2
		rs.waiters.answer(waiting)
	}
}

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
	rs.log.Debug("gcgate: state", "state", s, "reason", r.reason,
		"heap", rs.heap.used, "live", rs.heap.thresholds.live, "in_flight", inFlight)
	if rs.options.OnEvent != nil {
		rs.options.OnEvent(Event{
			Time: now, State: s, Reason: r.reason, Heap: rs.heap.used,
			WithoutTurn: r.withoutTurn, Overlapped: r.overlapped,
		})
	}
}

func (rs *rounds) pause(d time.Duration) bool {
	select {
	case <-rs.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// isUrgent has a higher threshold for a collection without the turn.
func (rs *rounds) isUrgent(r *round) bool {
	now := time.Now()
	if now.Sub(r.announced) < hardGrace {
		return false
	}
	if now.Sub(rs.heap.sampled) >= heapLook {
		rs.heap.sample()
	}
	if r.withoutTurn {
		return rs.heap.used >= rs.heap.thresholds.hardWithoutTurn
	}
	return rs.heap.pastHard()
}

func (rs *rounds) takeTurn(r *round) (ok bool) {
	r.lease, r.withoutTurn, ok = rs.turns.take(&r.reason)
	if r.withoutTurn {
		rs.status.update(func(s *Stats) { s.WithoutTurn++ })
	}
	return ok
}

func (rs *rounds) announce(r *round) {
	if !rs.heap.policy.announces() {
		return
	}
	for _, a := range rs.announcers {
		if r.withoutTurn {
			patience, ok := a.usableWithoutTurn()
			if !ok {
				continue // another replica may be drained
			}
			r.patience = max(r.patience, patience)
		}
		if rs.awaitUsable(r, a) {
			r.asked = append(r.asked, a)
		}
	}
	r.refused = rs.heap.policy == PolicyShed && !r.withoutTurn
	if len(r.asked) == 0 && !r.refused {
		return
	}
	r.rate = rs.requests.rate
	_, r.before = rs.requests.read()
	back := time.Now().Add(rs.usualDrain + r.expected)
	rs.status.leave(back)
	rs.to(StateAnnouncing, r)
	r.announced = rs.entered
	for _, a := range r.asked {
		r.drains = append(r.drains, a.post(true, back))
	}
	rs.status.refuse(r.refused)
	rs.awaitActed(r)
}

// awaitUsable waits for a signal that the last collection used, because polls may be late.
func (rs *rounds) awaitUsable(r *round, a *announcer) bool {
	for begin := time.Now(); ; rs.heap.sample() {
		err := a.usable(rs.options.AnnounceTimeout)
		switch {
		case err == nil, !a.used, time.Since(begin) >= usableLimit,
			rs.heap.pastHard(), isLost(r.lease), !rs.pause(usableLook):
			a.use(err)
			return err == nil
		}
	}
}

func (rs *rounds) awaitActed(r *round) {
	end := time.Now().Add(max(rs.options.AnnounceTimeout, r.patience))
	awaitAll(r.drains, func() bool {
		return rs.isUrgent(r) || isLost(r.lease) || isClosed(rs.stop) || !time.Now().Before(end)
	})
}

// awaitAll waits until all peers have acted, or over returns true.
func awaitAll(notices []*notice, over func() bool) {
	look := time.NewTicker(tick)
	defer look.Stop()
	for len(notices) > 0 {
		select {
		case <-notices[0].done:
			notices = notices[1:]
		case <-look.C:
			if over() {
				return
			}
		}
	}
}

func (rs *rounds) collect(r *round) (ended bool) {
	rs.heap.undrained = rs.heap.policy.announces() && !r.refused &&
		!slices.ContainsFunc(r.drains, (*notice).acted)
	if isClosed(rs.stop) || isLost(r.lease) {
		return false
	}
	rs.to(StateCollecting, r)
	rs.heap.sample()
	begin := time.Now()
	spent, _, _ := rs.heap.collector.CPU()
	inFlight, before := rs.requests.read()
	rs.noteConfirmed(r)
	returned := rs.heap.beginCycle()
	last, now, stalled, ended := rs.awaitMarked(r, before)
	r.overlapped = rs.requests.overlapOwn(inFlight, last-before, now-last)
	if ended {
		rs.awaitSwept(returned)
		rs.awaitQuota(spent)
		rs.heap.overdueEnded()
		rs.heap.predict.learn(time.Since(rs.heap.cycleBegan)-stalled, rs.heap.thresholds.live)
	} else if !isClosed(rs.stop) {
		rs.warnings.lasting("overdue", warnEvery,
			"gcgate: a collection does not end; serving, and not collecting again until it has",
			"took", time.Since(begin).Round(time.Millisecond), "expected", r.expected.Round(time.Millisecond))
	}
	_, after := rs.requests.read()
	rs.checkIgnored(r)
	rs.status.update(func(s *Stats) {
		s.Overlapped = rs.requests.overlapped()
		s.Stragglers += uint64(after - before)
		if ended {
			s.Collections[r.reason]++
		}
	})
	return ended
}

// awaitMarked returns the requests entered at the last two looks, and for how long this process
// stalled.
func (rs *rounds) awaitMarked(r *round, before uint32) (last, now uint32, stalled time.Duration, ended bool) {
	bound := max(overdueAfter, 10*r.expected)
	last, now = before, before
	waited, looked := time.Duration(0), time.Now()
	for waited < bound && !ended && rs.pause(markTick) {
		last = now
		_, now = rs.requests.read()
		ended = rs.heap.cycleEnded()
		look := time.Since(looked)
		waited += min(look, longestLook)
		if stalled += max(look-longestLook, 0); rs.heap.cycleBegan.After(looked) {
			stalled = 0
		}
		looked = time.Now()
	}
	return last, now, stalled, ended
}

// awaitSwept keeps a drained process out while it sweeps, for as long as it marked. On a single P
// the sweep delays polling of the network (runtime/proc.go, sysmon).
func (rs *rounds) awaitSwept(returned <-chan struct{}) {
	if !rs.status.out() {
		return
	}
	bound := time.NewTimer(time.Since(rs.heap.cycleBegan))
	defer bound.Stop()
	select {
	case <-returned:
	case <-bound.C:
	case <-rs.stop:
	}
}

// awaitQuota keeps a drained process out for a period of its CPU quota, if the collection took more than
// half of what one allows. Otherwise the kernel may stop it with its first requests
// (Documentation/scheduler/sched-bwc.rst). before is the CPU time of this process.
func (rs *rounds) awaitQuota(before time.Duration) {
	used, allowed, period := rs.heap.collector.CPU()
	if rs.status.out() && period > 0 && used-before > allowed/2 {
		rs.pause(period)
	}
}

// ready waits for a moment for peers that had acted, or for all if the gate stops.
func (rs *rounds) ready(r *round) {
	rs.status.comeBack()
	if len(r.asked) == 0 {
		return
	}
	rs.to(StateReadying, r)
	var wait []*notice
	for i, a := range r.asked {
		n := a.post(false, time.Time{})
		r.readies = append(r.readies, n)
		if r.drains[i].acted() || isClosed(rs.stop) {
			wait = append(wait, n)
		}
	}
	end := time.Now().Add(readyTimeout)
	awaitAll(wait, func() bool {
		rs.heap.sample()
		return rs.heap.pastHard() || !time.Now().Before(end)
	})
}

// releaseTurn does not wait. Only a gate that stops does.
func (rs *rounds) releaseTurn(r *round) {
	if r.lease == nil {
		return
	}
	if isLost(r.lease) {
		rs.status.update(func(s *Stats) { s.LostTurns++ })
		rs.warnings.warn("lost",
			"gcgate: the turn was lost while it was held; another replica may have collected at the same time")
	}
	bound := silentBound(rs.heap.turnStats().Spare)
	drained := r.refused || len(r.asked) > 0
	rs.turns.releaseAfter(r.lease, drained, func() bool { return rs.awaitReturn(r, bound) })
}

// awaitReturn reports whether all peers that must not lose two replicas have this one back. bound
// is for a silent peer.
func (rs *rounds) awaitReturn(r *round, bound time.Duration) (returned bool) {
	defer rs.turns.heldUp.clear()
	returned = true
	for i, ready := range r.readies {
		if a := r.asked[i]; !a.is.SafeWithoutTurn && !isLost(r.lease) {
			returned = rs.awaitPeer(r, a, ready, bound) && returned
		}
	}
	return returned && !isLost(r.lease)
}

func (rs *rounds) awaitPeer(r *round, a *announcer, ready *notice, bound time.Duration) (returned bool) {
	returned = a.awaitReturn(ready, bound, rs.stop, r.lease.Lost(), func(waited time.Duration, err error) {
		if waited < heldUpAfter {
			return
		}
		by := a.signal.String()
		if err != nil {
			by += ": " + err.Error()
		}
		rs.turns.heldUp.set(by, ready.posted)
		a.warnings.ongoing("holds",
			"gcgate: this replica holds the turn because a peer does not have it back; the others cannot collect",
			"held", waited.Round(time.Second), "error", err)
	})
	took := time.Since(ready.posted)
	out, err := a.outstanding(ready)
	switch {
	case returned && took > slowReturn:
		a.warnings.lasting("slow", lastsEvery,
			"gcgate: a peer took long to have this process back, and no other replica could collect",
			"took", took.Round(time.Millisecond),
			"fix", "let it poll faster while a server is down (HAProxy: downinter and fastinter; Envoy: "+
				"unhealthy_interval), "+
				"and let no monitor or HEALTHCHECK use its path, because the gate waits for these, too")
	case returned:
		a.warnings.over("gcgate: the peer has this replica back in time again", "slow")
	case out && !isLost(r.lease):
		a.warnings.lasting("gives up", warnEvery,
			"gcgate: a peer does not have this replica back; the turn goes to the next one, without this signal",
			"held", took.Round(time.Second), "error", err)
	}
	return returned || !out
}
