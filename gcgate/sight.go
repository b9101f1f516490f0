package gcgate

import "time"

const (
	// sightTimeout is how long to wait for a proof that a peer has this process back, once it
	// should have.
	sightTimeout = 10 * time.Second

	// sightLeast is how many requests it takes: one may be anybody's.
	sightLeast = 8

	// sightTimes is how many times more often they must come than those that come past the
	// peer. A request more than were seen is reckoned, since a short look may have missed it.
	sightTimes = 4

	// sightFades is what a drain leaves of what was seen in those before.
	sightFades = 31. / 32
)

// sight tells by the number of requests whether a peer sends them. Others may come past it, of a
// scraper or a neighbour, and polls that are counted too; but those come as well while the peers
// have this process out, and there they are seen.
type sight struct {
	gate *Gate // counts requests; nil: nobody does

	since   time.Time // all have had this process out; zero: they have not
	entered uint32    // requests by then
	looked  float64   // seconds of drains of late in which all had it out
	past    float64   // requests that came meanwhile
}

// out notes that all peers have this process out from now on.
func (s *sight) out(now time.Time) {
	if s.gate != nil && s.since.IsZero() {
		_, s.entered = s.gate.Requests()
		s.since = now
	}
}

// back notes that a peer may have this process back from now on.
func (s *sight) back(now time.Time) {
	if s.since.IsZero() {
		return
	}
	_, entered := s.gate.Requests()
	s.looked = s.looked*sightFades + now.Sub(s.since).Seconds()
	s.past = s.past*sightFades + float64(entered-s.entered)
	s.since = time.Time{}
}

// proves reports whether n requests within d are more than can have come past the peer.
func (s *sight) proves(n uint32, d time.Duration) bool {
	return n >= sightLeast && float64(n)*s.looked > sightTimes*(s.past+1)*d.Seconds()
}
