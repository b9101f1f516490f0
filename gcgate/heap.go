package gcgate

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"time"
)

// Bounds of the time between two samples.
const (
	sampleMin     = time.Millisecond
	sampleIdle    = 2 * time.Millisecond   // while the gate waits for the turn
	sampleMax     = 100 * time.Millisecond // while requests come
	sampleRest    = 250 * time.Millisecond // after as long without a request; the next one wakes the gate
	sampleRestMin = 150 * time.Millisecond // each sample wakes the whole runtime: 0.3 ms of CPU

	// burstRate is what a process may begin to allocate without a request, in bytes a second: of
	// objects up to a kilobyte a core allocates 1 to 3 GiB. The gate rests for as long as that
	// takes to the hard threshold, sampleRestMin at least. Nearly: the sample before may have seen
	// the burst's beginning, a ninth of the way, and not how fast it is.
	burstRate = 3 << 30

	limitTries = 3 // more than once the program does not set its limit at the very moment when the gate does

	memoryEvery = 10 * time.Second // between two looks at what memory there is
)

// heapWatch samples the heap and keeps the thresholds. It also holds the runtime's own pacing off
// or on, since that belongs to the thresholds: with no room between them the runtime stays in
// charge. Its fields are owned by the control goroutine.
type heapWatch struct {
	options   *Options
	log       *slog.Logger
	collector Collector
	pacing    *pacing
	requests  *counter
	status    *status
	stop      <-chan struct{} // closed when the gate stops
	turns     *turnLoad

	policy     Policy // never PolicyAuto
	requested  int64  // memory limit that somebody set: the options, or GOMEMLIMIT
	allowed    allowance
	memoryRead time.Time // when allowed was found
	inCharge   bool      // the runtime's pacing is off
	roomy      bool      // under PolicyMemory: there is memory to spend
	fresh      bool      // in charge, and no cycle has ended since: one may have begun before
	net        int64     // the runtime's limit as set by the gate; 0: it has not set any
	overruled  bool      // the program had set GOGC in the last cycle

	thresholds thresholds
	jitter     float64 // of the trigger, in this cycle
	predict    predictor
	gap        gap
	growth     growth
	undrained  bool          // the policy announces, and no peer has acted on the last announcement
	oldest     time.Duration // for so long a request in flight has been here, at least
	last       reading       // the last sample
	sampled    time.Time     // when it was taken
	base       uint64        // allocated when live was counted
	used       uint64        // bytes of objects, dead ones included
	rate       float64       // of allocation, bytes a second: the higher of the present and the recent one
	pace       float64       // of allocation, bytes a second: mean of about the last second
	collected  time.Time     // when the last cycle ended
	overlap    overlap
	began      time.Time // when the first sample was taken
	first      uint64    // cycles by then

	cycle      <-chan struct{} // closed when the gate's last Collect has returned; nil: it has
	marked     bool            // its marking is over
	cycleBegan time.Time       // when Collect was called, or when the cycle ended that it waited for

	timer    *time.Timer   // of sleep
	step     time.Duration // bound of the time to the next sample since a request came
	warnings *warnings
}

// begin takes the collection at the start in, and takes charge.
func (h *heapWatch) begin(took time.Duration) {
	h.step, h.timer = sampleMin, time.NewTimer(0)
	h.predict = newPredictor()
	h.last = readCollector(h.collector)
	h.first = h.last.cycles
	h.predict.seed(took, h.last.live)
	h.sampled = time.Now()
	h.began = h.sampled
	h.gap.since = h.sampled
	h.rebase(h.last)
	h.publish()
	h.logRule()
	h.warnOff()
}

// logRule tells the log the rule that the trigger follows, and its figures.
func (h *heapWatch) logRule() {
	ceiling, why := h.allowed.ceiling(h.options, h.collector.Overhead())
	if floor := float64(h.options.MinTriggerBytes); ceiling < floor {
		ceiling, why = floor, "MinTriggerBytes ("+why+")"
	}
	h.log.Info("gcgate: the trigger is the heap after two seconds of allocation, within floor and ceiling",
		"floor", h.options.MinTriggerBytes, "ceiling", uint64(ceiling), "ceiling_is", why,
		limitAttr("limit", h.allowed.limit), "limit_from", h.allowed.from)
	if set := h.requested; set != math.MaxInt64 && h.allowed.limit < set {
		h.log.Warn("gcgate: the memory limit is above what the control group leaves to this process: the lower one holds",
			"limit", set, "instead", h.allowed.limit,
			"fix", "lower GOMEMLIMIT or Options.MemoryLimitBytes, or give the container more memory")
	}
	if h.options.Turns != nil && h.options.Replicas == 0 {
		h.log.Info("gcgate: Options.Replicas is not set, so the trigger leaves no time for others to collect first",
			"fix", "set it to how many replicas take these turns; then the log also says if the turns do not suffice")
	}
}

// warnOff tells that GOGC=off is kept under a policy that leaves the runtime in charge, and what it costs.
func (h *heapWatch) warnOff() {
	if (h.policy == PolicyMemory || h.policy == PolicyStock) && h.allowed.limit != math.MaxInt64 && h.pacing.stock() == math.MaxInt {
		h.log.Warn("gcgate: GOGC is off, so the heap grows up to the memory limit, where requests assist without end",
			"limit", h.allowed.limit, "limit_from", h.allowed.from,
			"fix", "leave GOGC at its default, and the gate raises it as far as memory allows")
	}
}

// sleep waits for d, or less: until the gate stops, until sooner is sent to or closed, or until a
// request ends a silence. Then it takes a sample.
func (h *heapWatch) sleep(d time.Duration, sooner <-chan struct{}) {
	if h.policy != PolicyStock && h.silent() && !h.requests.watch(h.gap.entered) {
		d = min(d, sampleMin)
	}
	h.timer.Reset(d)
	select {
	case <-h.stop:
	case <-sooner:
	case <-h.requests.wake:
		h.step = sampleMin // nobody knows yet what this request allocates
	case <-h.timer.C:
	}
	h.requests.unwatch()
	h.sample()
}

// silent reports whether no request has been here for so long that the gate rests.
func (h *heapWatch) silent() bool { return h.gap.silence(h.sampled) >= sampleRest }

// sample reads the heap, and notices cycles that were not the gate's.
func (h *heapWatch) sample() {
	now, r := time.Now(), readCollector(h.collector)
	if dt := now.Sub(h.sampled).Seconds(); dt > 0 {
		rate := float64(r.allocated-h.last.allocated) / dt
		h.rate = max(rate, h.rate+(rate-h.rate)*min(1, dt)) // falls with a time constant of a second
		h.pace += (rate - h.pace) * -math.Expm1(-dt)
	}
	inFlight, entered := h.requests.read()
	_, moving := h.requests.readMoving()
	running := h.gap.running
	h.gap.see(now, inFlight, entered, moving)
	h.oldest = h.requests.age(now)
	h.overlap.see(entered)
	before := h.last
	late := h.cycle != nil && !h.marked // a collection that took too long may have ended
	swept := h.cycle == nil
	h.returned()
	h.used = h.thresholds.live + r.allocated - h.base
	h.last, h.sampled = r, now
	if r.cycles != before.cycles {
		was, heap, inCharge := h.thresholds, h.used, h.inCharge && !h.fresh
		automatic := r.automatic - before.automatic
		if late && r.cycles-before.cycles > automatic {
			h.marked = true
			h.overdueEnded()
		} else {
			h.overlap.foreign(r.cycles-before.cycles, h.collector.Marked(), running, h.gap.rate)
		}
		h.rebase(r)
		switch {
		case !inCharge:
		case automatic > 0:
			h.escaped(automatic, was, heap)
		case swept:
			h.warn("forced", "gcgate: the program called runtime.GC or debug.FreeOSMemory; call Gate.Collect instead",
				"why", "requests may have overlapped that collection")
		}
	}
	h.follow()
	h.status.heap.Store(h.used)
	h.publish()
}

// follow moves the trigger to where the allocation and the turns want it.
func (h *heapWatch) follow() {
	h.thresholds.follow(h.pace, h.jitter)
	h.turns.trigger = h.thresholds.trigger
	held := max(h.turns.held(h.expected()), h.turns.assumed)
	h.thresholds.goEarly(h.carriedRate(), max(held, h.turns.unheld(h.expected())), h.turns.lead(held))
}

// beginCycle has the collector collect, in a goroutine of its own: it may block for long after
// marking. The channel is closed when it has returned.
func (h *heapWatch) beginCycle() (returned <-chan struct{}) {
	done := make(chan struct{})
	h.cycle, h.marked, h.cycleBegan = done, false, time.Now()
	go func() { // Stop does not wait for it
		defer close(done)
		h.collector.Collect()
	}()
	return done
}

// cycleEnded reports whether the cycle that beginCycle began has ended, or its marking at least. Where the runtime has
// begun one by itself, runtime.GC waits for that and runs the gate's then: so the end of the first is told, and no more.
func (h *heapWatch) cycleEnded() bool {
	returned := h.returned() // before the reading: all that Collect did is in that
	now := readCollector(h.collector)
	cycles, automatic := now.cycles-h.last.cycles, now.automatic-h.last.automatic
	if cycles > 0 {
		was, heap, inCharge := h.thresholds, h.thresholds.live+now.allocated-h.base, h.inCharge && !h.fresh
		h.last.cycles, h.last.automatic = now.cycles, now.automatic
		h.rebase(now)
		if automatic > 0 && inCharge {
			h.escaped(automatic, was, heap)
		}
	}
	h.marked = returned || cycles > automatic
	if cycles > 0 && !h.marked {
		h.cycleBegan = time.Now()
	}
	return h.marked
}

// returned reports whether the gate's last Collect is over, its sweep included.
func (h *heapWatch) returned() bool {
	if h.cycle == nil {
		return true
	}
	select {
	case <-h.cycle:
		h.cycle = nil
		return true
	default:
		return false
	}
}

// escaped tells that the runtime collected although the gate is in charge. was are the
// thresholds of then, heap is what it had grown to.
func (h *heapWatch) escaped(n uint64, was thresholds, heap uint64) {
	h.status.update(func(s *Stats) { s.Escaped += n })
	overhead := h.collector.Overhead()
	switch {
	case h.overruled: // which has been told
	case int64(was.net) >= h.allowed.limit:
		h.warn("escaped", "gcgate: the runtime collected by itself because the memory limit is near; raise it",
			"fix", "or lower HardRatio and MaxTriggerBytes, so that the gate collects earlier",
			"limit", h.allowed.limit, "from", h.allowed.from, "heap", heap, "live", h.thresholds.live,
			"enough", limitFor(h.options, h.thresholds.live, overhead))
	case heap < was.hard:
		h.warn("escaped",
			"gcgate: the runtime collected by itself because memory outside the heap grew; the gate has moved its safety limit",
			"fix", "nothing; if this is said often, look for goroutines that pile up",
			"net", was.net, "heap", heap, "outside", overhead)
	default:
		h.warn("escaped",
			"gcgate: the runtime collected by itself because the heap outgrew hard; no memory limit is near; raise HardRatio",
			"fix", "or shorten AnnounceTimeout and DrainTimeout",
			"heap", heap, "trigger", was.trigger, "hard", was.hard, "net", was.net, "bytes_a_second", uint64(h.rate))
	}
}

// rebase starts from the heap that a cycle left.
func (h *heapWatch) rebase(r reading) {
	h.base, h.collected = r.allocated, time.Now()
	h.overlap.ended(h.collector.Marked())
	percent, overruled := h.pacing.programPercent()
	if h.overruled = overruled; overruled {
		h.warn("percent",
			"gcgate: the program has set GOGC (debug.SetGCPercent) while the gate is in charge of it; set it before Start",
			"percent", percent, "instead", "the gate sets its own again; the program's holds once the gate has stopped")
	}
	h.jitter = h.options.Jitter * rand.Float64()
	h.fresh = false
	h.growth.see(r)
	for tries := 0; !h.settle(r.live) && tries < limitTries; tries++ { // else the next collection looks
	}
}

// settle sets all that follows from a live heap in bytes and from the limits. It is false where the program has set the memory
// limit at the same moment: then it is to be done again.
func (h *heapWatch) settle(live uint64) bool {
	limit, changed := h.pacing.programLimit()
	if changed && h.net != 0 {
		h.net = limit
	}
	if lower := lowerLimit(h.options, limit); lower != h.requested {
		h.log.Info("gcgate: the program has set another memory limit (debug.SetMemoryLimit), which holds from now on",
			limitAttr("limit", limit), limitAttr("before", h.requested))
		h.requested, h.memoryRead = lower, time.Time{}
	}
	if h.memoryRead.IsZero() || h.collected.Sub(h.memoryRead) >= memoryEvery {
		h.memoryRead = h.collected
		m := memoryOf(h.collector)
		was := h.allowed.limit
		h.allowed = allow(h.options, h.requested, m)
		if more := h.allowed.limit - was; more > 0 && more <= was/netStep && h.allowed.limit != h.requested {
			h.allowed.limit = was
		}
	}
	overhead := h.collector.Overhead()
	h.thresholds = thresholdsFor(h.options, h.allowed, live, overhead)
	h.thresholds.needRoom(h.leastRatio())
	h.growth.crowd(h.thresholds.noRoom, live)
	if h.thresholds.noRoom && h.drains() && h.givesUpGroup() {
		h.thresholds.stretch(h.allowed.heap(overhead), h.requested)
	}
	h.follow()
	h.warnTurns()
	h.used = live
	h.status.heap.Store(h.used)
	return h.takeCharge(overhead)
}

// leastRatio is the lowest trigger in multiples of the live heap with which the gate is in charge.
// Where the live heap grows, and the gate's collections overlap requests, these must not come
// sooner than the runtime's.
func (h *heapWatch) leastRatio() float64 {
	switch drains := h.drains(); {
	case drains && !h.growth.known():
		return firstRatio
	case !drains && h.growth.grows():
		return min(1+float64(h.pacing.stock())/100, h.options.TriggerRatio)
	}
	return minTriggerRatio
}

// drains reports whether collections of the gate's own overlap no request.
func (h *heapWatch) drains() bool { return h.policy.announces() && !h.undrained }

// givesUpGroup reports whether the control group's limit is not set as the runtime's. While the
// live heap grows, that limit would have the runtime collect without end until the kernel kills the
// process. The kernel does that all the same.
func (h *heapWatch) givesUpGroup() bool { return h.growth.grows() && h.allowed.limit < h.requested }

// cede returns the limit to set where the runtime stays in charge for want of room: the process's,
// or what somebody has set, without the control group's.
func (h *heapWatch) cede(overhead uint64) (limit int64) {
	live := h.thresholds.live
	figures := []any{
		"limit", h.allowed.limit, "from", h.allowed.from, "live", live, "enough", limitFor(h.options, live, overhead),
	}
	if h.givesUpGroup() {
		h.warnings.lasting("grows", warnEvery,
			"gcgate: the live heap grows towards the memory limit; the runtime's own pacing (GOGC) is in charge",
			append(figures, "fix", "look for a leak in a heap profile, or raise the limit to enough")...)
		return h.requested
	}
	h.warnings.lasting("no room", warnEvery,
		"gcgate: the memory limit leaves no room above the live heap; the runtime stays in charge", figures...)
	return h.allowed.runtimeLimit(live, overhead)
}

// takeCharge switches the runtime's own pacing off, or on again where the limit leaves no room. It is false where the program has
// set the memory limit at the same moment.
func (h *heapWatch) takeCharge(overhead uint64) bool {
	net := int64(h.thresholds.net)
	switch {
	case h.policy == PolicyStock:
		h.pacing.lower()
		net = h.requested // the rest is the runtime's business
	case h.policy == PolicyMemory:
		net = h.spendMemory(overhead)
	case h.thresholds.noRoom:
		net = h.cede(overhead)
	default:
		h.warnings.over("gcgate: the memory limit leaves room again; the gate is in charge", "no room", "grows")
	}
	if net < h.allowed.limit { // the gate's own: below what is mapped, requests would give all that back at once
		net = min(max(net, int64(min(h.collector.Mapped(), 1<<62))), h.allowed.limit)
		h.thresholds.net = uint64(net)
	}
	// Each call stops the world: not for a change that does not matter. But the limit is kept to.
	exact := (net == h.allowed.limit || net == h.allowed.whole) && net != h.net
	if exact || max(net, h.net)-min(net, h.net) > h.net/netStep {
		h.net = net
		if h.pacing.setLimit(net) {
			return false
		}
	}
	want := h.policy != PolicyStock && h.policy != PolicyMemory && !h.thresholds.noRoom
	if want == h.inCharge {
		return true
	}
	h.inCharge, h.fresh = want, want
	if want {
		h.pacing.switchOff()
	} else {
		h.pacing.switchOn()
	}
	return true
}

// pastHard reports whether to collect at once.
func (h *heapWatch) pastHard() bool { return h.inCharge && h.used >= h.thresholds.hard }

// farFromHard reports whether the hard threshold is more than farFor away at the present rate, so
// that the turn may as well come a little later.
func (h *heapWatch) farFromHard() bool {
	return !h.inCharge || float64(h.used)+h.rate*farFor.Seconds() < float64(h.thresholds.hard)
}

const farFor = time.Minute

// quietEnough reports whether this looks like a gap long enough to collect in.
func (h *heapWatch) quietEnough() bool { return h.gap.silence(h.sampled) >= h.minGap() }

// minGap is the silence that is taken for a gap. With peers to carry the load there is no
// hurry: at a low rate any two requests have a gap between them, and a collection at the idle
// threshold is worth less than one at the trigger.
func (h *heapWatch) minGap() time.Duration {
	return max(leastGap, h.expected())
}

// expected is how long the next collection will take at most, nearly always.
func (h *heapWatch) expected() time.Duration { return h.predict.expect(h.thresholds.live) }

// interval is the time to the next sample: so that the trigger is not passed unseen, and less
// while a gap would be used, but not for long where nothing moves: a request may hang, or the
// turn not be to be had.
func (h *heapWatch) interval() time.Duration {
	d := h.ahead(h.thresholds.trigger)
	if h.inCharge && h.used >= h.thresholds.idle && h.seeksGap() {
		d = min(d, max(h.minGap()/4, h.gap.still(h.sampled)/8))
	}
	return d
}

// wantingInterval is the time to the next sample while the turn is waited for.
func (h *heapWatch) wantingInterval() time.Duration {
	return max(h.ahead(h.thresholds.hard), sampleIdle)
}

// ahead is the time to a sample before the heap passes a threshold: an eighth of what it takes
// to there at the present rate. After a silence the first request is looked at after a
// millisecond, then after two, and so on, up to sampleMax.
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
	if h.used < threshold { // as a float: after a minute of nothing it is centuries
		if eighth := float64(threshold-h.used) / 8; h.rate*d.Seconds() > eighth {
			d = time.Duration(eighth / h.rate * float64(time.Second))
		}
	}
	return max(d, sampleMin)
}

// publish shows other goroutines what is known.
func (h *heapWatch) publish() {
	h.status.mu.Lock()
	defer h.status.mu.Unlock()
	s := &h.status.stats
	s.Policy, s.Live, s.Trigger, s.Hard = h.policy, h.thresholds.live, h.thresholds.trigger, h.thresholds.hard
	s.Limit = uint64(h.allowed.limit)
	s.Oldest = h.oldest
	s.Entered, s.OverlappedOther = h.overlap.entered, uint64(h.overlap.met)
	s.Allocated, s.Turn = h.last.allocated, h.turnStats()
	s.Expected = h.expected()
	s.Next = time.Time{}
	if h.rate > 0 && h.inCharge {
		left := float64(h.thresholds.trigger) - float64(h.used)
		s.Next = h.sampled.Add(time.Duration(min(max(left, 0)/h.rate, 1e6) * float64(time.Second)))
	}
}

// warn logs an event; see [warnings.warn].
func (h *heapWatch) warn(kind, message string, args ...any) { h.warnings.warn(kind, message, args...) }

// overdueEnded notes that the gate's last collection has ended.
func (h *heapWatch) overdueEnded() {
	h.warnings.over("gcgate: the collection that took too long has ended", "overdue")
}
