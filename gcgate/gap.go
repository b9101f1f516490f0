package gcgate

import (
	"math"
	"time"
)

// Bounds of what counts as an unusual silence.
const (
	gapMin     = 5 * time.Millisecond
	gapMax     = 100 * time.Millisecond
	gapSpacing = 20 // times the usual time between two requests: by chance, once in e^20
)

// gap watches for times without requests. Owned by the control goroutine.
type gap struct {
	entered uint32    // at the last look
	looked  time.Time // the last look
	running int       // requests in flight then
	moved   time.Time // the last look that saw a request come or end
	since   time.Time // when silence began; zero: requests are in flight
	spacing float64   // moving average of the time between two requests while they come, seconds
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
	if came > 0 && !p.looked.IsZero() {
		spacing := dt / float64(came)
		if p.spacing == 0 {
			p.spacing = spacing
		}
		p.spacing += (spacing - p.spacing) * min(1, float64(came)/100)
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

// unusual is a silence that the usual traffic does not have.
func (p *gap) unusual() time.Duration {
	return min(max(time.Duration(gapSpacing*p.spacing*float64(time.Second)), gapMin), gapMax)
}

// seeksGap reports whether a silence may be a gap. Where peers are told of collections it tells nothing until a request was
// counted: the handlers may not be wrapped, and a collection at the idle threshold is dear.
func (h *heapWatch) seeksGap() bool {
	return h.policy != PolicyThrough && (h.overlap.entered > 0 || !h.policy.announces())
}

// warnUncounted says once that no request has ever been counted, though some collections have ended: it is called where the policy waits for
// requests, or looks for gaps between them.
func (h *heapWatch) warnUncounted() {
	if h.warnings.has("uncounted") || h.overlap.entered > 0 || h.last.cycles-h.first < observeCycles {
		return // it is wrapped, and idle at most
	}
	h.warn("uncounted", "gcgate: collections, but no request has entered: wrap the handlers with httpgate.Wrap, or call Gate.Enter")
}
