package gcgate

import (
	"math"
	"time"
)

const (
	sampleMin     = time.Millisecond
	sampleIdle    = 2 * time.Millisecond   // while waiting for the turn
	sampleMax     = 100 * time.Millisecond // while requests come
	sampleRest    = 250 * time.Millisecond // without requests; the next one wakes a gate in charge
	sampleRestMin = 150 * time.Millisecond // each sample wakes the runtime for 0.3 ms of CPU

	// Without a request a core may allocate at burstRate, in bytes per second.
	burstRate = 3 << 30
)

// heapWatch samples the heap and keeps the thresholds.
type heapWatch struct {
	*shared
	collector Collector
	turns     *turnLoad

	// As of the last sample. Rates are in bytes allocated per second.
	sampled time.Time
	last    reading
	used    uint64  // dead objects included
	rate    float64 // the higher of now and recently
	pace    float64 // mean of a second

	began       time.Time
	firstCycles uint64

	// As of the end of the last cycle (heapcycle.go).
	collected  time.Time
	base       uint64
	thresholds thresholds
	jitter     float64 // of the trigger
	growth     growth

	// The gate's own cycle (heapcycle.go).
	cycle      <-chan struct{} // closed when Collect has returned; nil: it has
	marked     bool
	cycleBegan time.Time // when Collect began to mark
	predict    predictor
	undrained  bool // no peer has acted on the last announcement

	// Who is in charge, and the memory limits (charge.go).
	policy         Policy // never PolicyAuto
	inCharge       bool   // the runtime's pacing is off
	noCycleYet     bool   // in charge, but a cycle from before may run
	unspent        string // why PolicyMemory leaves the runtime's goal; "": it has raised it
	spendingLogged struct {
		at      time.Time // zero: not yet
		unspent string
	}
	overruled   bool  // the program set GOGC in the last cycle
	requested   int64 // by the options or GOMEMLIMIT
	allowed     allowance
	memoryRead  time.Time
	safetyLimit int64 // that the gate has set; 0: none

	timer *time.Timer
	step  time.Duration // of the next pause
}

func (h *heapWatch) begin(took time.Duration) {
	h.step, h.timer = sampleMin, time.NewTimer(0)
	h.last = readCollector(h.collector)
	h.firstCycles = h.last.cycles
	h.predict = newPredictor(took, h.last.live)
	h.sampled = time.Now()
	h.began = h.sampled
	h.requests.silentSince = h.sampled
	h.rebase(h.last)
	h.publish()
	h.logRule()
	h.warnOff()
}

func (h *heapWatch) logRule() {
	highest, why := h.allowed.highestTrigger(h.options, h.collector.Overhead())
	if lowest := float64(h.options.MinTriggerBytes); highest < lowest {
		highest, why = lowest, "MinTriggerBytes ("+why+")"
	}
	h.log.Info("gcgate: the trigger is the heap after two seconds of allocation, within lowest and highest",
		"lowest", h.options.MinTriggerBytes, "highest", uint64(highest), "highest_is", why,
		limitAttr("limit", h.allowed.limit), "limit_from", h.allowed.from)
	if set := h.requested; set != math.MaxInt64 && h.allowed.limit < set {
		h.log.Warn("gcgate: the memory limit is above what the control group leaves to this "+
			"process: the lower one holds",
			"limit", set, "instead", h.allowed.limit,
			"fix", "lower GOMEMLIMIT or Options.MemoryLimitBytes, or give the container more memory")
	}
	if h.options.Turns != nil && h.options.Replicas == 0 {
		h.log.Info("gcgate: Options.Replicas is not set, so the trigger leaves no time for others to collect first",
			"fix", "set it to how many replicas take these turns; then the log also says if the turns do not suffice")
	}
}

func (h *heapWatch) warnOff() {
	if !h.policy.takesCharge() && h.allowed.limit != math.MaxInt64 && h.pacing.stock() == math.MaxInt {
		h.log.Warn("gcgate: GOGC is off, so the heap grows up to the memory limit, where requests assist without end",
			"limit", h.allowed.limit, "limit_from", h.allowed.from,
			"fix", "leave GOGC at its default, and the gate raises it as far as memory allows")
	}
}

// sleep waits for d, or until the gate stops, sooner fires, or in charge a request ends a silence.
// Then it samples.
func (h *heapWatch) sleep(d time.Duration, sooner <-chan struct{}) {
	if h.policy.takesCharge() && h.silent() && !h.requests.watch(h.requests.entered) {
		d = min(d, sampleMin)
	}
	h.timer.Reset(d)
	select {
	case <-h.stop:
	case <-sooner:
	case <-h.requests.wake:
		h.step = sampleMin
	case <-h.timer.C:
	}
	h.requests.unwatch()
	h.sample()
}

func (h *heapWatch) silent() bool { return h.requests.silence() >= sampleRest }

// sample also notices cycles of others.
func (h *heapWatch) sample() {
	now, r := time.Now(), readCollector(h.collector)
	if dt := now.Sub(h.sampled).Seconds(); dt > 0 {
		rate := float64(r.allocated-h.last.allocated) / dt
		h.rate = max(rate, h.rate+(rate-h.rate)*min(1, dt)) // falls with a time constant of a second
		h.pace += (rate - h.pace) * -math.Expm1(-dt)
	}
	running := h.requests.inFlight
	h.requests.look(now)
	before := h.last
	swept := h.cycle == nil
	late := !swept && !h.marked
	h.returned()
	h.used = h.thresholds.live + r.allocated - h.base
	h.last, h.sampled = r, now
	if r.cycles != before.cycles {
		was, heap, inCharge := h.thresholds, h.used, h.inCharge && !h.noCycleYet
		automatic := r.automatic - before.automatic
		if late && r.cycles-before.cycles > automatic {
			h.marked = true
			h.overdueEnded()
		} else {
			h.requests.overlapOther(r.cycles-before.cycles, h.collector.Marked(), running)
		}
		h.rebase(r)
		switch {
		case !inCharge:
		case automatic > 0:
			h.escaped(automatic, was, heap)
		case swept:
			h.warnings.warn("forced",
				"gcgate: the program called runtime.GC or debug.FreeOSMemory; call Gate.Collect instead",
				"why", "requests may have overlapped that collection")
		}
	}
	h.follow()
	h.publish()
}

func (h *heapWatch) follow() {
	h.thresholds.follow(h.pace, h.jitter)
	h.turns.trigger = h.thresholds.trigger
	held := max(h.turns.held(h.expected()), h.turns.assumed)
	drained := max(held, h.turns.drainedWithoutTurns(h.expected()))
	h.thresholds.leaveTime(h.carriedRate(), drained, h.turns.untilCollection(held))
}

func (h *heapWatch) pastHard() bool { return h.inCharge && h.used >= h.thresholds.hard }

func (h *heapWatch) farFromHard() bool {
	return !h.inCharge || float64(h.used)+h.rate*farFor.Seconds() < float64(h.thresholds.hard)
}

const farFor = time.Minute

// seeksGap is false before the first request, because the handlers may not be wrapped.
func (h *heapWatch) seeksGap() bool {
	return h.inCharge && h.policy.announces() && h.requests.total > 0 && h.used >= h.thresholds.idle
}

func (h *heapWatch) inGap() bool { return h.seeksGap() && h.requests.silence() >= h.gap() }

// gap is at least leastGap. At a low rate each pause between two requests would be a gap.
func (h *heapWatch) gap() time.Duration { return max(leastGap, h.expected()) }

// A service allocates while it starts.
const uncountedCycles, uncountedFor = 3, 10 * time.Second

// knowsCount reports whether a request was counted. If none was during several collections, it warns
// and returns true, too.
func (h *heapWatch) knowsCount() bool {
	if h.requests.total > 0 {
		return true
	}
	if h.last.cycles-h.firstCycles < uncountedCycles || h.sampled.Sub(h.began) < uncountedFor {
		return false
	}
	h.log.Warn("gcgate: collections ended, but no request was counted; " +
		"wrap the handlers with httpgate.Wrap, or call Gate.Enter")
	return true
}

func (h *heapWatch) expected() time.Duration { return h.predict.expect(h.thresholds.live) }

func (h *heapWatch) interval() time.Duration {
	d := h.ahead(h.thresholds.trigger)
	if h.seeksGap() {
		d = min(d, max(h.gap()/4, h.requests.unchanged()/8))
	}
	return d
}

func (h *heapWatch) wantingInterval() time.Duration {
	return max(h.ahead(h.thresholds.hard), sampleIdle)
}

// ahead is an eighth of the time to a threshold at the present rate. After a silence it doubles
// from 1 ms to sampleMax.
func (h *heapWatch) ahead(threshold uint64) time.Duration {
	d := min(h.step, sampleMax)
	h.step = min(2*h.step, sampleMax)
	if h.silent() {
		d = sampleRest
	}
	if !h.inCharge {
		return d
	}
	if h.silent() {
		left := (float64(h.thresholds.hard) - float64(h.used)) / burstRate
		d = max(time.Duration(min(left, d.Seconds())*float64(time.Second)), sampleRestMin)
	}
	if h.used < threshold { // a float, because it may be centuries
		if eighth := float64(threshold-h.used) / 8; h.rate*d.Seconds() > eighth {
			d = time.Duration(eighth / h.rate * float64(time.Second))
		}
	}
	return max(d, sampleMin)
}

func (h *heapWatch) publish() {
	h.status.mu.Lock()
	defer h.status.mu.Unlock()
	s := &h.status.stats
	s.Policy, s.Live, s.Trigger, s.Hard = h.policy, h.thresholds.live, h.thresholds.trigger, h.thresholds.hard
	s.Heap, s.Limit = h.used, uint64(h.allowed.limit)
	s.Entered, s.OverlappedOther = h.requests.total, uint64(h.requests.overlappedOther)
	s.Allocated, s.Turn = h.last.allocated, h.turnStats()
	s.Expected = h.expected()
	s.Next = time.Time{}
	if h.rate > 0 && h.inCharge {
		left := float64(h.thresholds.trigger) - float64(h.used)
		s.Next = h.sampled.Add(time.Duration(min(max(left, 0)/h.rate, 1e6) * float64(time.Second)))
	}
}
