package gcgate

import (
	"slices"
	"strings"
	"time"
)

// Bounds of the waits for requests to end.
const (
	// Silence is ten times the usual time between two requests, within bounds: chance makes one
	// pause in e^10 = 22,000 as long. At 10,000 requests a second the lower bound is a hundred
	// thousand times as unlikely; at 10 a second no silence that could be waited for tells anything,
	// and a collection meets a handful of requests at most.
	quietSpacing       = 10
	quietMin, quietMax = 2 * time.Millisecond, 50 * time.Millisecond

	// The longer requests have kept coming, in this drain or in recent ones, the longer is the silence that tells that they have ended:
	// this part of that time, up to quietMax. In a second of waiting for a balancer that acts late, client or balancer may well stand still for a moment.
	quietGrows = 20

	// heedLimit bounds the wait for a peer that confirms a drain and sends requests all the same: a
	// balancer that acts later than it says does so after a second or two. Where waits of as long in all, with
	// none that helped among them, have not helped, the wait is left out for heedAgain. A wait that the hard threshold
	// ended is not enough: the peer may act a moment later.
	heedLimit = 10 * time.Second
	heedAgain = time.Minute
	heedLook  = 10 * time.Millisecond // between two looks at the heap meanwhile

	// heedLeast requests, and heedShare of the usual ones, are more than some that were under way: on a
	// machine that is overloaded these arrive late. Where fewer are usual within a collection they add up over several, until
	// that many are usual that these would be a share of them.
	heedLeast = 3
	heedShare = 1. / 10
)

// quiet watches for a time without requests.
type quiet struct {
	read    func() (inFlight int, entered uint32) // of a counter
	wanted  time.Duration
	waited  time.Time // since when; zero: wanted does not grow
	since   time.Time // when the silence began, had this process run all the time
	entered uint32    // at the last look
	looked  time.Time
}

func newQuiet(read func() (inFlight int, entered uint32), wanted time.Duration) *quiet {
	_, entered := read()
	now := time.Now()
	return &quiet{read: read, wanted: wanted, since: now, entered: entered, looked: now}
}

// look reports whether no request has been here for as long as wanted. That takes two looks at least: after a time without a processor
// this goroutine may be the first that runs, before those that have yet to read their sockets.
func (q *quiet) look() bool {
	now := time.Now()
	inFlight, entered := q.read()
	if inFlight > 0 || entered != q.entered {
		q.since, q.entered = now, entered
	} else if stood := now.Sub(q.looked) - max(tick, q.wanted/2); stood > 0 {
		q.since = q.since.Add(stood)
	}
	q.looked = now
	wanted := q.wanted
	if !q.waited.IsZero() {
		wanted = max(wanted, min(now.Sub(q.waited)/quietGrows, quietMax))
	}
	return now.Sub(q.since) >= wanted
}

// quiet watches for the end of requests that came at a rate before the announcement, a second: nobody has looked since.
func (rs *rounds) quiet(r *round, read func() (inFlight int, entered uint32), rate float64) *quiet {
	q := newQuiet(read, rs.quietFor(rate))
	if rs.options.QuietFor == 0 && !r.refused && diverts(r.told) {
		q.wanted = max(q.wanted, min(rs.heap.turns.drain/quietGrows, quietMax))
		q.waited = r.announced
	}
	return q
}

// quietFor is how long no request must be in flight nor enter before the collection starts.
func (rs *rounds) quietFor(rate float64) time.Duration {
	if d := rs.options.QuietFor; d > 0 {
		return d
	}
	if rs.status.refusing.Load() {
		return quietMin // nobody is let in: only who entered just before it began
	}
	wanted := quietSpacing / rate
	return time.Duration(min(max(wanted, quietMin.Seconds()), quietMax.Seconds()) * float64(time.Second))
}

// drain waits until it is quiet, or the bound. Past that it waits on where requests keep coming
// although the peers have confirmed the drain: they are about to stop, or nobody heeds it.
func (rs *rounds) drain(r *round) {
	rs.to(StateDraining, r)
	q := rs.quiet(r, rs.requests.read, r.usual)
	if g := &rs.heap.gap; !r.refused && !diverts(r.told) && g.entered == q.entered && !g.since.IsZero() {
		q.since, q.looked = g.since, g.looked // nobody was told to send elsewhere, so the silence of before is as good
	}
	half := rs.options.DrainTimeout / 2
	wanted := time.Duration(0) // beside what it takes
	isQuiet := rs.awaitQuiet(r, q, half)
	rs.watchPeers(r) // what was under way has arrived
	isQuiet = isQuiet || rs.awaitQuiet(r, q, half)
	if !isQuiet && rs.keepComing(r) {
		if isQuiet = rs.awaitHeed(r); !isQuiet {
			wanted = time.Since(r.announced) / 2
		}
	}
	rs.warnUnended(r, isQuiet)
	if took := time.Since(r.announced); took < rs.options.AnnounceTimeout+rs.options.DrainTimeout+2*heedLimit { // else this process itself stood still
		rs.lead += (took - rs.lead) / 4
		rs.heap.turns.learnDrain(took + wanted)
		if rs.heap.turns.vain = took; isQuiet {
			rs.heap.turns.vain = 0
		}
	}
	if time.Now().Before(rs.heedless) {
		rs.heap.turns.drain = 0 // nobody is waited for
	}
}

// warnUnended tells the log of requests from before the announcement that are still in flight when
// the drain is over: all of those in flight but as many as have entered since. The oldest may have
// been here for longer than is known.
func (rs *rounds) warnUnended(r *round, isQuiet bool) {
	inFlight, entered := rs.requests.read()
	unended := inFlight - int(entered-r.before)
	switch took := time.Since(r.announced); {
	case isQuiet:
		rs.heap.warnings.over("gcgate: requests end within the drain again", "unended")
	case unended > 0 && took >= rs.options.DrainTimeout:
		rs.heap.warnings.lasting("unended", lastsEvery,
			"gcgate: requests did not end within DrainTimeout, so they overlap a collection",
			"requests", unended, "oldest_at_least", max(rs.heap.oldest, took).Round(time.Millisecond),
			"fix", "give handlers that hang a timeout; raise DrainTimeout for slow ones; "+
				"count no streams (httpgate.Options.Stream), or their messages (Gate.EnterKept)")
	}
}

// awaitQuiet waits until it is quiet, and reports whether it is; at most within, and not past what presses says.
func (rs *rounds) awaitQuiet(r *round, q *quiet, within time.Duration) bool {
	for end := time.Now().Add(within); !isLost(r.lease); {
		switch {
		case q.look():
			return true
		case rs.presses(r) || !time.Now().Before(end) || !rs.pause(min(tick, q.wanted)):
			return false
		}
	}
	return false
}

// awaitHeed waits for a peer that acts later than it says: until it is quiet, up to the hard threshold
// and within bounds. It reports false where it was not long enough.
func (rs *rounds) awaitHeed(r *round) bool {
	q := rs.quiet(r, rs.requests.readMoving, r.rate)
	if q.looked.Before(rs.heedless) {
		return true
	}
	for rs.futile < heedLimit && !rs.heap.pastHard() && !isLost(r.lease) {
		begin := time.Now()
		if rs.awaitQuiet(r, q, heedLook) {
			rs.futile = 0
			return true
		}
		if isClosed(rs.stop) {
			return true
		}
		rs.heap.sample()
		rs.futile += min(time.Since(begin), longestLook) // not for which this process stood still
	}
	if rs.futile >= heedLimit {
		rs.futile, rs.heedless = 0, time.Now().Add(heedAgain)
	}
	return false
}

// unheard is what has come while the peers said that they send nothing: from half of a drain on, or its quiet end, to the end of the
// collection. It is that of several collections where the requests are few. Owned by the control goroutine.
type unheard struct {
	requests uint32
	usual    float64 // requests that would have come without a drain
	within   time.Duration
}

// watchPeers notes that from now on no request shall come, where each peer has said so.
func (rs *rounds) watchPeers(r *round) {
	if r.watched.IsZero() && r.confirmed() {
		_, r.entered = rs.requests.readMoving()
		r.watched = time.Now()
	}
}

// keepComing reports whether too many requests have come for peers that have confirmed
// the drain, and tells the log and the statistics, once in a round. Those that no peer can send elsewhere are none.
func (rs *rounds) keepComing(r *round) bool {
	if r.unheeded || r.watched.IsZero() {
		return r.unheeded
	}
	now := time.Now()
	_, entered := rs.requests.readMoving()
	u, d := &rs.unheard, now.Sub(r.watched)
	u.requests += entered - r.entered
	u.usual += r.rate * d.Seconds()
	u.within += d
	r.entered, r.watched = entered, now
	if u.requests < heedLeast || float64(u.requests) < heedShare*u.usual {
		if heedShare*u.usual >= heedLeast {
			*u = unheard{} // they heed
			rs.heap.warnings.over("gcgate: requests cease again when a drain is confirmed", "unheeded")
		}
		return false
	}
	r.unheeded = true
	came, within := u.requests, u.within
	*u = unheard{}
	rs.status.update(func(s *Stats) { s.Unheeded++ })
	var names, why []string
	for _, a := range r.told {
		names = append(names, a.signal.String())
		if e, ok := a.signal.(Explainer); ok {
			end := a.call("WhyUnheeded")
			if text := e.WhyUnheeded(); text != "" {
				why = append(why, text)
			}
			end()
		}
	}
	why = append(why, "clients that keep connections to this process past the balancer")
	rs.heap.warnings.lasting("unheeded", lastsEvery,
		"gcgate: requests keep coming although each peer has confirmed the drain; remove the likely cause",
		"signals", strings.Join(names, ", "), "requests", came, "within", within, "likely", strings.Join(why, "; or "))
	return true
}

// confirmed reports whether there are peers that stop requests, and all peers have acted on the announcement.
func (r *round) confirmed() bool {
	return diverts(r.told) && !slices.ContainsFunc(r.drains, func(n *notice) bool { return !n.acted() })
}

// diverts reports whether there are peers that stop requests.
func diverts(told []*announcer) bool {
	return slices.ContainsFunc(told, func(a *announcer) bool { return !a.is.KeepsRequests })
}
