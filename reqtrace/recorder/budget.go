package recorder

import "time"

// What the recorder costs is known in three ways:
//
//   - the analysis by its thread's CPU clock;
//   - a snapshot by its wall-clock time, which is more than it computes;
//   - tracing, which is spread over all of the program, by a model: so much an event, a goroutine and a generation. Events are
//     known by their bytes: one second after it was switched on, all that was recorded since is counted (by a snapshot that is not
//     kept) but for the lists of goroutines, and how many requests there were meanwhile; from then on the requests tell. What an event costs on this machine is measured as the
//     recorder starts ([runtimeProcess.calibrate]); what a goroutine and a generation cost was, once: 100,000 parked ones take 75 ms a second.
//
// make bench-recorder compares the model with what a service takes without a recorder.
const (
	eventBytes     = 5.5                    // of a trace, on average
	listedBytes    = 17                     // of a trace, where a generation lists a goroutine that did nothing in it
	goroutineCost  = 750 * time.Nanosecond  // each generation lists all goroutines
	generationCost = 300 * time.Microsecond // one a second
	requestBytes   = 100                    // before it is known
	enoughRequests = 50                     // to take all bytes for theirs
)

// budget is an account of processor time: what the process takes earns a share of it, what the recorder takes is spent. It is on
// until the account is overdrawn, and off until there is enough for a slice. So it keeps within the share whatever the costs
// are, by how often it is on. It belongs to the recorder's goroutine.
type budget struct {
	share      float64
	credit     time.Duration
	rate       float64 // that is earned in a second, in nanoseconds, smoothed
	cost       cost
	earned     time.Duration // in all
	event      time.Duration // that an event takes
	perRequest float64       // bytes, as last measured
	others     float64       // bytes of a second, where requests were too few to tell
}

// cost is what the recorder has taken of the processors.
type cost struct{ tracing, snapshots, analysis time.Duration }

const (
	idleShare   = .001 // of a processor: what the recorder may take of a process that idles
	memory      = 60.  // seconds of earnings that the account holds, for a process that was busy until now
	sliceLeast  = 5 * time.Second
	sliceMost   = time.Minute // then it is started again, to be measured and sized anew
	measureTime = time.Second // after which a slice is measured
)

// earn takes note of what the process has taken of the processors in a time.
func (b *budget) earn(taken, passed time.Duration) {
	if passed <= 0 {
		return
	}
	earned := max(b.share*float64(taken), idleShare*float64(passed))
	b.earned += time.Duration(earned)
	b.credit += time.Duration(earned)
	const smooth = .1
	rate := earned / passed.Seconds()
	if b.rate == 0 {
		b.rate = rate
	}
	b.rate += smooth * (rate - b.rate)
	b.credit = min(b.credit, time.Duration(memory*b.rate))
}

// listed returns the bytes of a generation's list of goroutines.
func listed(goroutines int) float64 { return listedBytes * float64(goroutines) }

// measured takes note of how many bytes were recorded in a time, lists left out, and of how many requests. Where these are too few to tell, those that come
// later take what they took before.
func (b *budget) measured(bytes float64, requests uint64, passed time.Duration) {
	switch {
	case requests >= enoughRequests:
		b.perRequest, b.others = bytes/float64(requests), 0
	case passed > 0:
		b.others = bytes / passed.Seconds()
	}
}

// bytes returns how many bytes a time in which there were so many requests takes, lists left out.
func (b *budget) bytes(requests uint64, passed time.Duration) float64 {
	return b.perRequest*float64(requests) + b.others*passed.Seconds()
}

// tracing returns what tracing takes in a time.
func (b *budget) tracing(requests uint64, goroutines int, passed time.Duration) time.Duration {
	events := b.bytes(requests, passed) / eventBytes
	generation := generationCost + time.Duration(goroutines)*goroutineCost
	return time.Duration(events*float64(b.event)) + time.Duration(passed.Seconds()*float64(generation))
}

func (b *budget) traced(d time.Duration)   { b.credit -= d; b.cost.tracing += d }
func (b *budget) snapshot(d time.Duration) { b.credit -= d; b.cost.snapshots += d }
func (b *budget) analyzed(d time.Duration) { b.credit -= d; b.cost.analysis += d }

// unbounded reports whether all that the process takes may be the recorder's.
func (b *budget) unbounded() bool { return b.share >= 1 }

// overdrawn reports whether the recorder has to be off.
func (b *budget) overdrawn() bool { return b.credit < 0 && !b.unbounded() }

// enough reports whether there is enough for a slice, at what a second of it takes. A slice that takes more than the account can hold
// begins when it is full.
func (b *budget) enough(second time.Duration) bool {
	need := time.Duration(sliceLeast.Seconds() * float64(second))
	return b.unbounded() || b.credit >= min(need, time.Duration(.9*memory*b.rate))
}
