package recorder

import "time"

// What the recorder costs is CPU time, and never the time that something lasted:
//
//   - a snapshot and an analysis by the CPU clock of their thread, and 0.3 ms more for a snapshot, as it keeps other threads waiting;
//   - tracing, which is spread over all of the program, by a model: so much a second, a goroutine and an event. Events are known by
//     their bytes, which a snapshot has, and so by requests. How dear an event is on this machine is measured as the recorder
//     starts ([runtimeProcess.calibrate]), and in place by the service's own CPU time per request, with tracing and without ([pairs]).
//
// make bench-recorder compares all that with what a service takes without a recorder.
const (
	eventBytes    = 5.5                     // of a trace, on average
	listedBytes   = 17                      // of a trace, for a goroutine that did nothing in a generation
	goroutineCost = time.Microsecond        // each generation, of a second, lists all goroutines
	secondCost    = 2500 * time.Microsecond // of tracing, whatever the program does
	snapshotCost  = 300 * time.Microsecond  // of other threads
	requestBytes  = 100                     // before it is known
	analysisCost  = 40.                     // nanoseconds a byte, before it is known

	enoughRequests = 50 // to take all bytes for theirs
)

// budget is an account of CPU time: what the process takes earns a share of it, what the recorder
// takes is spent. The recorder is on until what is left is due for the snapshot that ends the
// slice, and off until there is enough for another one. So it keeps within the share whatever the
// costs are, by how often it is on. It belongs to the recorder's goroutine.
type budget struct {
	share      float64
	credit     time.Duration
	rate       float64 // that is earned in a second, in nanoseconds, smoothed
	cost       cost
	most       time.Duration // that the process has taken: no cost is more
	earned     time.Duration // in all
	event      time.Duration // that an event takes, by the model
	watching   time.Duration // that it takes a second to watch the CPU quota
	pairs      pairs
	perRequest float64 // bytes, as last measured
	others     float64 // bytes of a second, where requests were too few to tell
	perByte    float64 // nanoseconds that an analysis takes, as last measured
}

// cost is what the recorder has taken of the processors.
type cost struct{ tracing, snapshots, analysis, apart time.Duration }

func (c *cost) inside() time.Duration { return c.tracing + c.snapshots + c.analysis }

const (
	idleBusy     = .25 // of a processor: a process that takes less earns as one that takes so much
	memory       = 60. // seconds of earnings that the account holds
	full         = .9  // of that; what is dearer begins with that
	sliceMost    = time.Minute
	measureTime  = time.Second     // after which a slice is measured
	measureAgain = 5 * time.Second // and again, if that was its first
	measureEach  = time.Minute
)

// earn takes note of what the process has taken of the processors in a time.
func (b *budget) earn(taken, passed time.Duration) {
	if passed <= 0 {
		return
	}
	b.most += taken
	earned := b.share * max(float64(taken), idleBusy*float64(passed))
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

// measured takes note of how many bytes were recorded in a time, lists left out, and of how many
// requests. Where these are too few to tell, those that come later take what they took before.
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

// model returns what tracing takes in a time by the model.
func (b *budget) model(requests uint64, goroutines int, passed time.Duration) time.Duration {
	events := b.bytes(requests, passed) / eventBytes
	second := secondCost + b.watching + time.Duration(goroutines)*goroutineCost
	return time.Duration(events*float64(b.event)) + time.Duration(passed.Seconds()*float64(second))
}

// tracing returns what tracing takes in a time: by what was measured in place, and until that is
// known by the larger of this and the model.
func (b *budget) tracing(requests uint64, goroutines int, passed time.Duration) time.Duration {
	ratio, _, known := b.pairs.ratio()
	if !known {
		ratio = max(ratio, 1)
	}
	return time.Duration(ratio * float64(b.model(requests, goroutines, passed)))
}

// traced, snapshot and analyzed take note of what was spent. What is more than the process has
// taken in all was not.
func (b *budget) traced(d time.Duration)   { b.spend(&b.cost.tracing, d) }
func (b *budget) snapshot(d time.Duration) { b.spend(&b.cost.snapshots, d+snapshotCost) }
func (b *budget) analyzed(d time.Duration) { b.spend(&b.cost.analysis, d) }

func (b *budget) spend(of *time.Duration, d time.Duration) {
	if b.most > 0 { // else it is not known
		d = min(d, max(b.most-b.cost.inside(), 0))
	}
	*of += d
	b.credit -= d
}

// apart takes note of what another program took, which is nothing of this process's.
func (b *budget) apart(d time.Duration) { b.cost.apart += d; b.credit -= d }

// learn takes note of how many bytes an analysis read, and of what it took.
func (b *budget) learn(bytes int64, took time.Duration) {
	const least, smooth = 1 << 10, .3 // of fewer bytes it is what any takes
	if bytes < least {
		return
	}
	b.perByte += smooth * (float64(took)/float64(bytes) - b.perByte)
}

// ending returns what the snapshot of so many bytes takes, and its analysis.
func (b *budget) ending(bytes float64) time.Duration {
	const fixed, written = time.Millisecond, .5 // nanoseconds a byte
	return fixed + snapshotCost + time.Duration(bytes*written+min(bytes, maxAnalyzed)*b.perByte)
}

// unbounded reports whether all that the process takes may be the recorder's.
func (b *budget) unbounded() bool { return b.share >= 1 }

// over reports whether the recorder has to be off, or has to end its slice by what takes so much.
func (b *budget) over(ending time.Duration) bool { return b.credit < ending && !b.unbounded() }

// enough reports whether there is enough for a slice that takes so much. One that takes more than
// the account can hold begins when it is full.
func (b *budget) enough(slice time.Duration) bool {
	return b.unbounded() || b.credit >= min(slice, time.Duration(full*memory*b.rate))
}

// full reports whether the account holds all that it can: what is not spent now is lost.
func (b *budget) full() bool { return b.unbounded() || b.credit >= time.Duration(full*memory*b.rate) }
