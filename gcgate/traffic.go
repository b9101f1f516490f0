package gcgate

import (
	"math"
	"time"
)

const leastGap = 100 * time.Millisecond

// traffic is what the control goroutine knows of the requests. It alone uses the fields below the
// counter:
//
//	any goroutine         Enter, EnterKept, Exit
//	                          | one atomic operation each
//	                          v
//	                      counter (counter.go)
//	                          | look, up to a thousand times a second
//	                          v
//	control goroutine     traffic
//	                          |
//	      +---------------+---+-----------+------------------+
//	      v               v               v                  v
//	    rate           silence         overlaps          afterDrain (drain.go)
//	    what quiet     gaps, sleep     Overlapped,       IgnoredDrains of Stats
//	    means                          OverlappedOther
//	    (drain.go)                     of Stats
type traffic struct {
	*counter

	// As of the last look.
	looked   time.Time
	inFlight int
	entered  uint32        // modulo 2^32
	movable  uint32        // of entered: a peer can send these elsewhere
	total    uint64        // entered since the start
	oldest   time.Duration // the least age of the oldest request in flight

	rate        float64
	movableRate float64

	// Silence.
	silentSince time.Time
	changed     time.Time

	// Overlaps with mark phases. The gate notices cycles of others when they are over, so
	// overlappedOther is an estimate.
	overlapHalves   uint64 // twice the overlaps with the gate's own
	overlappedOther float64
	totalBefore     uint64
	marked          time.Duration
}

func (t *traffic) look(now time.Time) {
	inFlight, entered := t.read()
	_, movable := t.readMovable()
	came, dt := entered-t.entered, now.Sub(t.looked)
	if dt > 0 && !t.looked.IsZero() {
		weight := -math.Expm1(-dt.Seconds())
		t.rate += (float64(came)/dt.Seconds() - t.rate) * weight
		t.movableRate += (float64(movable-t.movable)/dt.Seconds() - t.movableRate) * weight
	}
	if came > 0 || inFlight > 0 || dt > longestLook { // then this process stalled, and may have requests to read
		t.silentSince = time.Time{}
	}
	if inFlight == 0 && t.silentSince.IsZero() {
		t.silentSince = now
	}
	if came > 0 || inFlight != t.inFlight {
		t.changed = now
	}
	t.total += uint64(entered - uint32(t.total))
	t.looked, t.inFlight, t.entered, t.movable = now, inFlight, entered, movable
	t.oldest = t.age(now)
}

func (t *traffic) silence() time.Duration {
	if t.silentSince.IsZero() {
		return 0
	}
	return t.looked.Sub(t.silentSince)
}

func (t *traffic) unchanged() time.Duration { return t.looked.Sub(t.changed) }

// overlapOther counts the overlaps with cycles that began without the gate. marked is
// Collector.Marked now, and running is how many requests were in flight before.
func (t *traffic) overlapOther(cycles uint64, marked time.Duration, running int) {
	came := min(float64(t.total-t.totalBefore), max(marked-t.marked, 0).Seconds()*t.rate)
	t.overlappedOther += float64(cycles)*float64(running) + came
}

func (t *traffic) cycleEnded(marked time.Duration) { t.totalBefore, t.marked = t.total, marked }

// overlapOwn counts the overlaps with a mark phase of the gate's own. Half of those that entered
// between the last two looks count.
func (t *traffic) overlapOwn(inFlight int, entered, lately uint32) (n uint64) {
	before := t.overlapped()
	t.overlapHalves += 2*(uint64(inFlight)+uint64(entered)) + uint64(lately)
	return t.overlapped() - before
}

func (t *traffic) overlapped() uint64 { return t.overlapHalves / 2 }
