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
)

// A Counter counts requests: a gcgate.Gate does.
type Counter interface {
	// Requests returns a count of all requests that have entered, modulo 2^32.
	Requests() (inFlight int, entered uint32)
}

// proof tells by the number of requests whether a peer sends them. Others may come past it, of a
// scraper or a neighbour, and polls that are counted too; but those come as well while the peers
// have this process out, and there they are seen.
type proof struct {
	counter Counter // nil: nobody counts requests

	since   time.Time // all have had this process out; zero: they have not
	entered uint32    // requests by then
	looked  float64   // seconds of recent drains in which all had it out
	past    float64   // requests that came meanwhile
}

// out notes that all peers have this process out from now on.
func (s *proof) out(now time.Time) {
	if s.counter != nil && s.since.IsZero() {
		_, s.entered = s.counter.Requests()
		s.since = now
	}
}

// back notes that a peer may have this process back from now on.
func (s *proof) back(now time.Time) {
	if s.since.IsZero() {
		return
	}
	_, entered := s.counter.Requests()
	s.looked = s.looked*proofFades + now.Sub(s.since).Seconds()
	s.past = s.past*proofFades + float64(entered-s.entered)
	s.since = time.Time{}
}

// proves reports whether n requests within d are more than can have come past the peer.
func (s *proof) proves(n uint32, d time.Duration) bool {
	return n >= proofRequests && float64(n)*s.looked > proofTimes*(s.past+1)*d.Seconds()
}
