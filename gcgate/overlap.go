package gcgate

import "time"

// overlap counts requests, and those that met the mark phase of a cycle that was not the gate's. Such a
// cycle is noticed when it is over, so these are an estimate. Owned by the control goroutine.
type overlap struct {
	entered uint64        // requests, in all
	before  uint64        // of them, those until the last cycle ended
	marked  time.Duration // Collector.Marked then
	met     float64
}

// see takes the requests' counter in, which wraps around.
func (o *overlap) see(entered uint32) { o.entered += uint64(entered - uint32(o.entered)) }

// foreign counts what cycles met that began without the gate. marked is Collector.Marked now, running
// the requests that were in flight at the last look, and rate theirs, a second.
func (o *overlap) foreign(cycles uint64, marked time.Duration, running int, rate float64) {
	came := min(float64(o.entered-o.before), max(marked-o.marked, 0).Seconds()*rate)
	o.met += float64(cycles)*float64(running) + came
}

// ended notes that a cycle has ended.
func (o *overlap) ended(marked time.Duration) { o.before, o.marked = o.entered, marked }

// countMet counts the requests that a mark phase of the gate's own met: those in flight at its start,
// those that entered until the last look that found it running, and half of those that entered between
// that look and the next, as it ended somewhere in between.
func (rs *rounds) countMet(r *round, inFlight int, entered, lately uint32) {
	before := rs.halves
	rs.halves += 2*(uint64(inFlight)+uint64(entered)) + uint64(lately)
	r.met = rs.halves/2 - before/2
	rs.status.update(func(s *Stats) { s.Overlapped = rs.halves / 2 })
}
