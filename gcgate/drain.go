package gcgate

import (
	"slices"
	"strings"
	"time"
)

const (
	// A pause of quietSpacing times the usual one is quiet. By chance one in 22,000 is as long.
	quietSpacing       = 10
	quietMin, quietMax = 2 * time.Millisecond, 50 * time.Millisecond

	// The pause is at least a quietGrows-th of the time for which requests kept coming.
	quietGrows = 20

	// The gate waits up to lateLimit for peers that confirm a drain and still send requests. If
	// that does not help, it does not wait again for lateAgain.
	lateLimit = 10 * time.Second
	lateAgain = time.Minute

	afterDrainLeast = 3
	afterDrainShare = 1. / 10
)

// quietWatch looks for a pause between requests: none in flight, and none entered for a while.
type quietWatch struct {
	read    func() (inFlight int, entered uint32)
	wanted  time.Duration
	grows   time.Time // zero: it does not
	since   time.Time // less stalls of this process
	entered uint32
	looked  time.Time
}

// look reports whether the pause is long enough. After a stall other goroutines have yet to read
// their sockets, so it looks again.
func (q *quietWatch) look() bool {
	now := time.Now()
	inFlight, entered := q.read()
	if inFlight > 0 || entered != q.entered {
		q.since, q.entered = now, entered
	} else if stalled := now.Sub(q.looked) - max(tick, q.wanted/2); stalled > 0 {
		q.since = q.since.Add(stalled)
	}
	q.looked = now
	wanted := q.wanted
	if !q.grows.IsZero() {
		wanted = max(wanted, min(now.Sub(q.grows)/quietGrows, quietMax))
	}
	return now.Sub(q.since) >= wanted
}

func (rs *rounds) quiet(r *round) *quietWatch {
	_, entered := rs.requests.read()
	now := time.Now()
	q := &quietWatch{read: rs.requests.read, wanted: rs.quietFor(r.rate), since: now, entered: entered, looked: now}
	if !r.refused && divertsRequests(r.asked) {
		q.wanted = max(q.wanted, min(rs.heap.turns.longestDrain/quietGrows, quietMax))
		q.grows = r.announced
	}
	return q
}

// quietFor returns how long a pause has to be at a rate of requests per second.
func (rs *rounds) quietFor(rate float64) time.Duration {
	if rs.status.refusing.Load() {
		return quietMin // only requests from just before the refusals
	}
	wanted := quietSpacing / rate
	return time.Duration(min(max(wanted, quietMin.Seconds()), quietMax.Seconds()) * float64(time.Second))
}

// drain waits until requests pause, so that none overlaps the collection. It waits for at most
// DrainTimeout, and longer for peers that confirmed the drain and still send (awaitLatePeers). A
// heap at its limit or a lost lease ends it at once.
func (rs *rounds) drain(r *round) {
	if r.announced.IsZero() {
		return
	}
	rs.to(StateDraining, r)
	q := rs.quiet(r)
	if t := rs.requests; !r.refused && !divertsRequests(r.asked) && t.entered == q.entered && !t.silentSince.IsZero() {
		q.since, q.looked = t.silentSince, t.looked
	}
	half := rs.options.DrainTimeout / 2
	isQuiet := rs.awaitQuiet(r, q, half)
	rs.noteConfirmed(r)
	isQuiet = isQuiet || rs.awaitQuiet(r, q, half)
	more := time.Duration(0) // that the drain would have needed
	if !isQuiet && rs.checkIgnored(r) {
		if isQuiet = rs.awaitLatePeers(r); !isQuiet {
			more = time.Since(r.announced) / 2
		}
	}
	rs.warnUnended(r, isQuiet)
	took := time.Since(r.announced)
	if took < rs.options.AnnounceTimeout+rs.options.DrainTimeout+2*lateLimit { // else this process stalled
		rs.usualDrain += (took - rs.usualDrain) / 4
		rs.heap.turns.learnDrain(took, more, isQuiet)
	}
	if rs.late.skips(time.Now()) {
		rs.heap.turns.longestDrain = 0
	}
}

// awaitQuiet reports whether requests paused within bound.
func (rs *rounds) awaitQuiet(r *round, q *quietWatch, bound time.Duration) bool {
	for end := time.Now().Add(bound); !isLost(r.lease); {
		switch {
		case q.look():
			return true
		case rs.isUrgent(r) || !time.Now().Before(end) || !rs.pause(min(tick, q.wanted)):
			return false
		}
	}
	return false
}

// warnUnended warns of requests from before the announcement.
func (rs *rounds) warnUnended(r *round, isQuiet bool) {
	inFlight, entered := rs.requests.read()
	unended := inFlight - int(entered-r.before)
	switch took := time.Since(r.announced); {
	case isQuiet:
		rs.warnings.over("gcgate: requests end within the drain again", "unended")
	case unended > 0 && took >= rs.options.DrainTimeout:
		rs.warnings.lasting("unended", lastsEvery,
			"gcgate: requests did not end within DrainTimeout, so they overlap a collection",
			"requests", unended, "waited", took.Round(time.Millisecond),
			"fix", "give handlers that hang a timeout; raise DrainTimeout for slow ones; "+
				"count no streams (httpgate.Options.Stream)")
	}
}

// latePeers is how long the gate has waited for peers that send after they confirmed a drain.
type latePeers struct {
	waited    time.Duration
	skipUntil time.Time
}

func (l *latePeers) skips(now time.Time) bool { return now.Before(l.skipUntil) }

// awaitLatePeers waits for up to lateLimit in several rounds together.
func (rs *rounds) awaitLatePeers(r *round) bool {
	q := rs.quiet(r)
	if rs.late.skips(q.looked) {
		return true
	}
	for rs.late.waited < lateLimit && !rs.heap.pastHard() && !isLost(r.lease) {
		begin := time.Now()
		if rs.awaitQuiet(r, q, heapLook) {
			rs.late.waited = 0
			return true
		}
		if isClosed(rs.stop) {
			return true
		}
		rs.heap.sample()
		rs.late.waited += min(time.Since(begin), longestLook)
	}
	if rs.late.waited >= lateLimit {
		rs.late = latePeers{skipUntil: time.Now().Add(lateAgain)}
	}
	return false
}

// afterDrain adds up several collections while requests are few.
type afterDrain struct {
	entered uint32
	usual   float64
	within  time.Duration
}

func (d *afterDrain) tooMany() bool {
	return d.entered >= afterDrainLeast && float64(d.entered) >= afterDrainShare*d.usual
}

func (d *afterDrain) proves() bool { return afterDrainShare*d.usual >= afterDrainLeast }

func (rs *rounds) noteConfirmed(r *round) {
	if r.confirmed.IsZero() && r.isConfirmed() {
		_, r.entered = rs.requests.read()
		r.confirmed = time.Now()
	}
}

// checkIgnored reports whether too many requests enter although each peer has confirmed the drain.
// It logs and counts that once in a round.
func (rs *rounds) checkIgnored(r *round) bool {
	if r.ignored || r.confirmed.IsZero() {
		return r.ignored
	}
	now := time.Now()
	_, entered := rs.requests.read()
	within := now.Sub(r.confirmed)
	d := &rs.afterDrain
	d.entered += entered - r.entered
	d.usual += r.rate * within.Seconds()
	d.within += within
	r.entered, r.confirmed = entered, now
	switch {
	case d.tooMany():
		r.ignored = true
		rs.status.update(func(s *Stats) { s.IgnoredDrains++ })
		rs.warnIgnored(r, d)
		*d = afterDrain{}
	case d.proves():
		*d = afterDrain{}
		rs.warnings.over("gcgate: requests cease again when a drain is confirmed", "ignored")
	}
	return r.ignored
}

func (rs *rounds) warnIgnored(r *round, d *afterDrain) {
	var names, why []string
	for _, a := range r.asked {
		names = append(names, a.signal.String())
		if e, ok := a.signal.(Explainer); ok {
			if text := e.WhyIgnored(); text != "" {
				why = append(why, text)
			}
		}
	}
	why = append(why, "clients that keep connections to this process past the balancer")
	rs.warnings.lasting("ignored", lastsEvery,
		"gcgate: requests keep coming although each peer has confirmed the drain; remove the likely cause",
		"signals", strings.Join(names, ", "), "requests", d.entered, "within", d.within.Round(time.Millisecond),
		"likely", strings.Join(why, "; or "))
}

func (r *round) isConfirmed() bool {
	return divertsRequests(r.asked) && !slices.ContainsFunc(r.drains, func(n *notice) bool { return !n.acted() })
}

func divertsRequests(peers []*announcer) bool {
	return slices.ContainsFunc(peers, func(a *announcer) bool { return !a.is.KeepsRequests })
}
