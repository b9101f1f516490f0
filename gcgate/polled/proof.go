package polled

import "time"

const (
	// ProofTimeout is how long [Peers.Ready] waits for a proof that a peer has this process back,
	// once that has got its answers.
	ProofTimeout = 10 * time.Second

	// proofRequests is how many requests it takes: one may be anybody's.
	proofRequests = 8

	// proofTimes is how many times more often they must come than those that come past the
	// peer. A request more than were seen is reckoned, since a short look may have missed it.
	proofTimes = 4

	// proofFades is what a drain leaves of what was seen in those before.
	proofFades = 31. / 32

	// A look tells whether requests still come when lookRequests would have come since the last one. By chance fewer than
	// a quarter of them come once in a hundred million looks. Up to lookFew are some that were under way.
	lookRequests = 40
	lookFew      = 2

	// rateTime is how long this process must have served for the rate of its requests to be known.
	rateTime = 100 * time.Millisecond

	// proofBlind is after how many drains in a row, in which requests never ceased, nothing is known any more.
	proofBlind = 2
)

// A Counter counts requests: a gcgate.Gate does.
type Counter interface {
	// Requests returns a count of all requests that have entered, modulo 2^32.
	Requests() (inFlight int, entered uint32)
}

// proof tells by the number of requests whether a peer sends them. Others may come past it, of a
// scraper or a neighbour, and polls that are counted too; but those come as well while the peers
// have this process out, and there they are seen.
//
// A peer may act later than it says, as Envoy does, which gathers what its checks find for a second. What it sends
// meanwhile did not come past it. So what is seen counts from when requests first came four times more seldom than before the drain.
// A drain in which they never did tells nothing, and two in a row tell that what was seen before does not hold any more.
type proof struct {
	counter Counter // nil: nobody counts requests

	from   time.Time // this process has served since, up to the drain
	served uint32    // requests by then
	rate   float64   // of requests before the last drain, a second

	since   time.Time // all have had this process out; zero: they have not
	entered uint32    // requests by then
	quiet   bool      // a look has seen that they ceased
	blind   int       // drains in a row in which they never did
	looked  float64   // seconds of recent drains in which all had it out
	past    float64   // requests that came meanwhile
}

// attach counts requests by c from now on.
func (s *proof) attach(c Counter, now time.Time) {
	s.counter, s.since, s.rate = c, time.Time{}, 0
	s.serve(now)
}

// serve notes that the peers have this process back.
func (s *proof) serve(now time.Time) {
	if s.counter != nil {
		_, s.served = s.counter.Requests()
		s.from = now
	}
}

// leave notes that the peers are told to have this process out from now on.
func (s *proof) leave(now time.Time) {
	s.since = time.Time{}
	if d := now.Sub(s.from); s.counter != nil && d >= rateTime {
		_, entered := s.counter.Requests()
		s.rate = float64(entered-s.served) / d.Seconds()
	}
}

// out notes that all peers say that they have this process out from now on.
func (s *proof) out(now time.Time) {
	if s.counter != nil && s.since.IsZero() {
		s.begin(now)
		s.quiet = false
	}
	s.look(now)
}

func (s *proof) begin(now time.Time) {
	_, s.entered = s.counter.Requests()
	s.since = now
}

// look begins anew where requests still come.
func (s *proof) look(now time.Time) {
	d := now.Sub(s.since)
	if s.since.IsZero() || s.quiet || s.rate*d.Seconds() < lookRequests {
		return
	}
	if s.quiet = !s.comes(d); !s.quiet {
		s.begin(now)
	}
}

// comes reports whether the requests of the last d, since the last look that has seen them, are still a quarter of the usual ones.
func (s *proof) comes(d time.Duration) bool {
	_, entered := s.counter.Requests()
	n := entered - s.entered
	return n > lookFew && proofTimes*float64(n) > s.rate*d.Seconds()
}

// back notes that a peer may have this process back from now on.
func (s *proof) back(now time.Time) {
	if s.since.IsZero() {
		return
	}
	d := now.Sub(s.since)
	if s.comes(d) {
		if s.blind++; s.blind >= proofBlind {
			s.looked, s.past = 0, 0
		}
	} else {
		_, entered := s.counter.Requests()
		s.looked = s.looked*proofFades + d.Seconds()
		s.past = s.past*proofFades + float64(entered-s.entered)
		s.blind = 0
	}
	s.since = time.Time{}
}

// proves reports whether n requests within d are more than can have come past the peer.
func (s *proof) proves(n uint32, d time.Duration) bool {
	return n >= proofRequests && float64(n)*s.looked > proofTimes*(s.past+1)*d.Seconds()
}
