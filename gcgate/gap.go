package gcgate

import (
	"math"
	"time"
)

// leastGap is the shortest time without requests that the gate takes for a gap.
const leastGap = 100 * time.Millisecond

// gap watches for times without requests. Owned by the control goroutine.
type gap struct {
	entered uint32    // at the last look
	looked  time.Time // the last look
	running int       // requests in flight then
	moved   time.Time // the last look that saw a request come or end
	since   time.Time // when silence began; zero: requests are in flight
	rate    float64   // of requests, a second: mean of about the last second, silence included

	movingEntered uint32  // at the last look, without those that no peer can send elsewhere
	movingRate    float64 // of these
}

// see takes a look at the counters in; moving is entered without the requests that no peer can send elsewhere.
func (p *gap) see(now time.Time, inFlight int, entered, moving uint32) {
	came := entered - p.entered
	dt := now.Sub(p.looked).Seconds()
	if dt > 0 && !p.looked.IsZero() {
		p.rate += (float64(came)/dt - p.rate) * -math.Expm1(-dt)
		p.movingRate += (float64(moving-p.movingEntered)/dt - p.movingRate) * -math.Expm1(-dt)
	}
	if came > 0 || inFlight > 0 || dt > longestLook.Seconds() { // this process itself stood still, and may have requests to read
		p.since = time.Time{}
	}
	if inFlight == 0 && p.since.IsZero() {
		p.since = now
	}
	if came > 0 || inFlight != p.running {
		p.moved = now
	}
	p.entered, p.movingEntered, p.looked, p.running = entered, moving, now, inFlight
}

// still is how long no request has come or ended.
func (p *gap) still(now time.Time) time.Duration { return now.Sub(p.moved) }

// silence is how long no request has been here.
func (p *gap) silence(now time.Time) time.Duration {
	if p.since.IsZero() {
		return 0
	}
	return now.Sub(p.since)
}

// seeksGap reports whether the gate collects in gaps. It doesn't before it has counted a request,
// because the handlers may not be wrapped, and a collection at the idle threshold is expensive.
func (h *heapWatch) seeksGap() bool { return h.policy.announces() && h.overlap.entered > 0 }

// warnUncounted says once that some collections have ended and the gate has never counted a request.
// It is for policies that wait for requests.
func (h *heapWatch) warnUncounted() {
	if h.warnings.has("uncounted") || h.overlap.entered > 0 || h.last.cycles-h.first < observeCycles {
		return // it is wrapped, and idle at most
	}
	h.warn("uncounted", "gcgate: collections, but no request has entered: wrap the handlers with httpgate.Wrap, or call Gate.Enter")
}
