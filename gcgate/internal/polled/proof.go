package polled

import "time"

const (
	// ProofTimeout is how long [Peers.Ready] waits for a proof after the answers.
	ProofTimeout = 10 * time.Second

	// A peer of which nothing is known may want proofAnswers in a row.
	proofAnswers = 30

	// A proof takes proofRequests, because one may be of any client.
	proofRequests = 8

	// They must come proofTimes as often as those past the peer.
	proofTimes = 4

	// A drain leaves proofFades of what earlier ones showed.
	proofFades = 31. / 32

	// A look tells once lookRequests would have come. Up to lookFew were on their way.
	lookRequests = 40
	lookFew      = 2

	// A silence in which silentRequests would have come is not by chance.
	silentRequests = 10

	// The rate is known after rateTime in service.
	rateTime = 100 * time.Millisecond

	// After proofBlind drains in a row without an end of requests the proof forgets what it knew.
	proofBlind = 2
)

// A Counter counts requests, as a gcgate.Gate does.
type Counter interface {
	// Requests returns how many requests have entered, modulo 2^32.
	Requests() (inFlight int, entered uint32)
}

// proof infers from the number of requests whether a peer sends them. Some come past the peer while
// it has this process out.
//
// A peer may act later than it says. So the proof counts from when requests first came four times
// less often than before the drain.
type proof struct {
	counter Counter // nil: none

	from   time.Time // in service since
	served uint32
	rate   float64 // before the last drain, per second

	since   time.Time // when all had acted; zero: they have not
	entered uint32
	late    bool // requests kept coming at a look
	quiet   bool // they had ceased at a look
	seen    uint32
	moved   time.Time // the last look with a new request
	blind   int       // drains in a row without an end of requests
	looked  float64   // seconds for which all had this process out
	past    float64   // requests in that time
}

func (s *proof) attach(c Counter, now time.Time) {
	s.counter, s.since, s.rate = c, time.Time{}, 0
	s.serve(now)
}

func (s *proof) serve(now time.Time) {
	if s.counter != nil {
		_, s.served = s.counter.Requests()
		s.from = now
	}
}

func (s *proof) drainStarts(now time.Time) {
	s.since = time.Time{}
	if d := now.Sub(s.from); s.counter != nil && d >= rateTime {
		_, entered := s.counter.Requests()
		s.rate = float64(entered-s.served) / d.Seconds()
	}
}

func (s *proof) allActed(now time.Time) {
	if s.counter != nil && s.since.IsZero() {
		s.startWindow(now)
		s.late, s.quiet = false, false
	}
	s.checkCeased(now)
}

func (s *proof) startWindow(now time.Time) {
	s.readCounter(now)
	s.since, s.entered, s.moved = now, s.seen, now
}

func (s *proof) readCounter(now time.Time) {
	if _, entered := s.counter.Requests(); entered != s.seen {
		s.seen, s.moved = entered, now
	}
}

func (s *proof) checkCeased(now time.Time) {
	if s.since.IsZero() {
		return
	}
	s.readCounter(now)
	d := now.Sub(s.since)
	if s.quiet || s.rate*d.Seconds() < lookRequests {
		return
	}
	if s.quiet = !s.stillArrives(s.seen-s.entered, d); !s.quiet {
		s.late = true
		s.startWindow(now)
	}
}

func (s *proof) stillArrives(n uint32, d time.Duration) bool {
	return n > lookFew && proofTimes*float64(n) > s.rate*d.Seconds()
}

func (s *proof) endWindow(now time.Time) {
	if s.since.IsZero() {
		return
	}
	s.readCounter(now)
	n, d := s.seen-s.entered, now.Sub(s.since)
	if silence := now.Sub(s.moved); s.stillArrives(n, d) && s.rate*silence.Seconds() >= silentRequests {
		n, d = 0, silence
	}
	short := s.late && !s.quiet && s.rate*d.Seconds() < silentRequests
	if short || s.stillArrives(n, d) {
		if s.blind++; s.blind >= proofBlind {
			s.looked, s.past = 0, 0
		}
	} else {
		s.looked = s.looked*proofFades + d.Seconds()
		s.past = s.past*proofFades + float64(n)
		s.blind = 0
	}
	s.since = time.Time{}
}

func (s *proof) proves(n uint32, d time.Duration) bool {
	return n >= proofRequests && float64(n)*s.looked > proofTimes*(s.past+1)*d.Seconds()
}
