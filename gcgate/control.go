package gcgate

import (
	"math"
	"math/rand/v2"
	"time"
)

// Bounds of the time between two samples.
const (
	sampleMin  = time.Millisecond
	sampleIdle = 2 * time.Millisecond   // while a gap would be used, or the turn is waited for
	sampleMax  = 100 * time.Millisecond // while requests come
	sampleRest = 250 * time.Millisecond // after as long without a request; the next one wakes the gate
	restLeast  = 150 * time.Millisecond // a look wakes the whole runtime: 0.3 ms of CPU

	// burstRate is what a process may begin to allocate without a request, in bytes a second: of
	// objects up to a kilobyte a core allocates 1 to 3 GiB. The gate rests for as long as that
	// takes to the hard threshold, restLeast at least. Nearly: the look before may have seen the
	// burst's beginning, a ninth of the way, and not how fast it is.
	burstRate = 3 << 30

	memoryEvery = 10 * time.Second // between two looks at what memory there is
	warnEvery   = 10 * time.Second // between two warnings of one kind
)

// control is what the control goroutine knows. No other goroutine touches it.
type control struct {
	policy   Policy // never Auto
	asked    int64  // memory limit that somebody set: the options, or GOMEMLIMIT
	allowed  allowance
	surveyed time.Time // when allowed was found
	percent  int       // GOGC of before
	original int64     // memory limit of before
	charged  bool      // GOGC is off: the gate is in charge
	fresh    bool      // charged, and no cycle has ended since: one may have begun before
	net      int64     // the runtime's limit as set by the gate; 0: it has not

	at        thresholds
	jitter    float64 // of the trigger, in this cycle
	predict   predictor
	last      reading
	base      uint64 // allocated when live was counted
	used      uint64 // bytes of objects, dead ones included
	sampled   time.Time
	rate      float64   // of allocation, bytes a second: the higher of now and of late
	pace      float64   // of allocation, bytes a second: mean of about the last second
	collected time.Time // when the last cycle ended

	timer    *time.Timer   // of look
	step     time.Duration // bound of the time to the next sample since a request came
	gap      gap
	observer observer
	entered  time.Time       // when the state began
	lead     time.Duration   // from an announcement to the collection, moving average
	asking   <-chan struct{} // closed when the TryAcquire that is out has returned; nil: none is
	holdOff  time.Time       // no collection in a gap before: the turn was held
	running  <-chan struct{} // closed when the last collect has returned; nil: it has
	marked   bool            // its marking is over
	warned   map[string]time.Time
}

// init reads the collector, collects once, and takes charge. asked is the memory limit that
// somebody set.
func (c *control) init(g *Gate, asked int64) {
	c.asked, c.original = asked, g.gc.setLimit(-1)
	c.warned = make(map[string]time.Time)
	c.policy = g.options.Policy
	c.step = sampleMin
	g.stats.Collections = make(map[Reason]uint64)
	g.stats.Phases = make(map[State]Duration)
	begin := time.Now()
	g.gc.collect()
	c.predict = newPredictor()
	c.last = g.gc.read()
	c.predict.seed(time.Since(begin), c.last.live)
	c.sampled = time.Now()
	c.gap.since = c.sampled
	if c.policy == Auto {
		c.policy = stock
		if len(g.announcers) > 0 {
			c.policy = Drain
		}
		g.explain()
	}
	g.rebase(c.last)
	g.publish()
	g.introduce()
}

// introduce tells the log the rule that the trigger follows, and its figures.
func (g *Gate) introduce() {
	ceiling, why := g.allowed.most(&g.options, g.gc.overhead())
	if floor := float64(g.options.MinTriggerBytes); ceiling < floor {
		ceiling, why = floor, "MinTriggerBytes ("+why+")"
	}
	g.log.Info("gcgate: the trigger is the heap after two seconds of allocation, at least the floor and TriggerRatio times the live heap, at most the ceiling",
		"floor", g.options.MinTriggerBytes, "ceiling", uint64(ceiling), "ceiling_is", why,
		"limit", g.allowed.limit, "limit_from", g.allowed.from)
	if set := g.asked; set != math.MaxInt64 && g.allowed.limit < set {
		g.log.Warn("gcgate: the memory limit is above that of the control group, which would be hit first: the lower one holds; lower GOMEMLIMIT or Options.MemoryLimitBytes, or give the container more memory",
			"limit", set, "instead", g.allowed.limit)
	}
}

// run samples the heap and collects until Stop.
func (g *Gate) run() {
	defer g.leave()
	g.timer = time.NewTimer(0)
	defer g.timer.Stop()
	for d := time.Duration(0); ; d = g.interval() {
		g.look(d, g.wake)
		if g.stopping.Load() {
			return
		}
		if g.policy == stock {
			g.observe()
		}
		if reason, due := g.due(); due {
			g.collection(reason)
			g.sample()
		}
	}
}

// look samples after d, or sooner: when the gate stops, when sooner is sent to or closed, and
// when a request ends a silence.
func (g *Gate) look(d time.Duration, sooner <-chan struct{}) {
	if g.policy != stock && g.silent() && !g.requests.watch(g.gap.entered) {
		d = min(d, sampleMin)
	}
	g.timer.Reset(d)
	select {
	case <-g.stop:
	case <-sooner:
	case <-g.requests.wake:
		g.step = sampleMin // nobody knows yet what this request allocates
	case <-g.timer.C:
	}
	g.requests.unwatch()
	g.sample()
}

// silent reports whether no request has been here for so long that the gate rests.
func (g *Gate) silent() bool { return g.gap.silence(g.sampled) >= sampleRest }

// leave gives the collector back.
func (g *Gate) leave() {
	if g.charged {
		g.gc.setPercent(g.percent)
	}
	g.gc.setLimit(g.original)
	g.end()
	g.others.Wait()
	g.mu.Lock()
	for _, w := range g.waiters {
		w <- ErrStopped
	}
	g.waiters = nil
	g.mu.Unlock()
	g.freed()
	close(g.done)
}

// sample reads the heap, and notices cycles that were not the gate's.
func (g *Gate) sample() {
	now, r := time.Now(), g.gc.read()
	if dt := now.Sub(g.sampled).Seconds(); dt > 0 {
		rate := float64(r.allocated-g.last.allocated) / dt
		g.rate = max(rate, g.rate+(rate-g.rate)*min(1, dt)) // falls with a time constant of a second
		g.pace += (rate - g.pace) * -math.Expm1(-dt)
	}
	inFlight, entered := g.requests.read()
	g.gap.see(now, inFlight, entered)
	before := g.last
	mine := g.running != nil && !g.marked // a collection that took too long may have ended
	swept := g.running == nil
	g.returned()
	g.used = g.at.live + r.allocated - g.base
	g.last, g.sampled = r, now
	if r.cycles != before.cycles {
		was, heap, charged := g.at, g.used, g.charged && !g.fresh
		g.marked = true
		g.rebase(r)
		automatic := r.automatic - before.automatic
		switch {
		case !charged || mine:
		case automatic > 0:
			g.escaped(automatic, was, heap)
		case swept:
			g.warn("forced", "gcgate: the program collected by itself (runtime.GC or debug.FreeOSMemory): requests may have met that collection; call Gate.Collect instead")
		}
	}
	g.at.follow(g.pace, g.jitter)
	g.heapNow.Store(g.used)
	g.publish()
}

// escaped tells that the runtime collected although the gate is in charge. was are the
// thresholds of then, heap is what it had grown to.
func (g *Gate) escaped(n uint64, was thresholds, heap uint64) {
	g.mu.Lock()
	g.stats.Escaped += n
	g.mu.Unlock()
	overhead := g.gc.overhead()
	switch {
	case int64(was.net) >= g.allowed.limit:
		g.warn("escaped", "gcgate: the runtime collected by itself: the memory limit was hit; raise it, or lower HardRatio and MaxTriggerBytes so that the gate collects earlier",
			"limit", g.allowed.limit, "from", g.allowed.from, "heap", heap, "live", g.at.live, "enough", limitFor(&g.options, g.at.live, overhead))
	case heap < was.hard:
		g.warn("escaped", "gcgate: the runtime collected by itself: memory beside the heap (stacks, fragmentation) grew into the gate's own net, which was moved; nothing to do, unless this is said often: then look for goroutines that pile up",
			"net", was.net, "heap", heap, "beside", overhead)
	default:
		g.warn("escaped", "gcgate: the runtime collected by itself: the heap outgrew the hard threshold up to the gate's own net before the gate had collected, no memory limit was hit; raise HardRatio for a higher net, or shorten AnnounceTimeout and DrainTimeout",
			"heap", heap, "trigger", was.trigger, "hard", was.hard, "net", was.net, "bytes_a_second", uint64(g.rate))
	}
}

// rebase starts from the heap that a cycle left.
func (g *Gate) rebase(r reading) {
	g.base, g.collected = r.allocated, time.Now()
	if g.surveyed.IsZero() || g.collected.Sub(g.surveyed) >= memoryEvery {
		g.surveyed = g.collected
		g.allowed = allow(&g.options, g.asked, g.gc.memory())
	}
	overhead := g.gc.overhead()
	g.at = thresholdsFor(&g.options, g.allowed, r.live, overhead)
	g.jitter = g.options.Jitter * rand.Float64()
	g.at.follow(g.pace, g.jitter)
	g.used = r.live
	g.heapNow.Store(g.used)
	g.fresh = false
	g.charge(overhead)
}

// charge switches the runtime's own pacing off, or on again where the limit leaves no room.
func (g *Gate) charge(overhead uint64) {
	want := g.policy != stock && !g.at.crowded
	net := int64(g.at.net)
	switch {
	case g.policy == stock:
		net = g.asked // the rest is the runtime's business
	case g.at.crowded:
		net = g.allowed.limit
		g.warn("crowded", "gcgate: the memory limit leaves no room beside the live heap; the runtime stays in charge",
			"limit", net, "from", g.allowed.from, "live", g.at.live, "enough", limitFor(&g.options, g.at.live, overhead))
	}
	// Each call stops the world: not for a change that does not matter. But the limit is kept to.
	lowered := net < g.net && net == g.allowed.limit
	if lowered || max(net, g.net)-min(net, g.net) > g.net/16 {
		g.net = net
		g.gc.setLimit(net)
	}
	if want == g.charged {
		return
	}
	g.charged, g.fresh = want, want
	if want {
		g.percent = g.gc.setPercent(-1)
	} else {
		g.gc.setPercent(g.percent)
	}
}

// due says whether to collect now, and why.
func (g *Gate) due() (Reason, bool) {
	if !g.returned() && !g.marked {
		return 0, false // its sweep needs no waiting for: the next collection ends it
	}
	switch {
	case g.wanted():
		return Requested, true
	case !g.charged:
		return 0, false
	case g.used >= g.at.hard:
		return Hard, true
	case g.used >= g.at.trigger:
		return Trigger, true
	case g.options.Period > 0 && g.sampled.Sub(g.collected) >= g.options.Period:
		return Periodic, true
	case g.policy != Through && g.used >= g.at.idle && g.quietEnough() && !g.sampled.Before(g.holdOff):
		return IdleGap, true
	}
	return 0, false
}

// wanted reports whether someone waits for a collection.
func (g *Gate) wanted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiters) > 0
}

// quietEnough reports whether this looks like a gap long enough to collect in.
func (g *Gate) quietEnough() bool { return g.gap.silence(g.sampled) >= g.leastGap() }

// leastGap is the silence that is taken for a gap. With peers to carry the load there is no
// hurry: at a low rate any two requests have a gap between them, and a collection at the idle
// threshold is worth less than one at the trigger.
func (g *Gate) leastGap() time.Duration {
	least := g.gap.unusual()
	switch g.policy {
	case Idle:
		return least
	case stock: // would Idle help?
		return max(least, g.predict.expect(g.at.live))
	}
	return max(least, 100*time.Millisecond, g.predict.expect(g.at.live))
}

// interval is the time to the next sample: so that the trigger is not passed unseen, and less
// while a gap would be used, but not for long where nothing moves: a request may hang, or the
// turn not be to be had.
func (g *Gate) interval() time.Duration {
	if g.policy == stock {
		return g.glance()
	}
	d := g.ahead(g.at.trigger)
	if g.charged && g.used >= g.at.idle && g.policy != Through {
		d = min(d, max(sampleIdle, g.leastGap()/4, g.gap.still(g.sampled)/8))
	}
	return d
}

// ahead is the time to a sample before the heap passes a threshold: an eighth of what it takes
// to there at the present rate. After a silence the first request is looked at after a
// millisecond, then after two, and so on, up to sampleMax.
func (g *Gate) ahead(threshold uint64) time.Duration {
	d := min(g.step, sampleMax)
	g.step = min(2*g.step, sampleMax)
	if g.silent() {
		d = sampleRest
	}
	if !g.charged {
		return d
	}
	if g.silent() {
		left := (float64(g.at.hard) - float64(g.used)) / burstRate
		d = max(time.Duration(min(left, d.Seconds())*float64(time.Second)), restLeast)
	}
	if g.used < threshold { // as a float: after a minute of nothing it is centuries
		if eighth := float64(threshold-g.used) / 8; g.rate*d.Seconds() > eighth {
			d = time.Duration(eighth / g.rate * float64(time.Second))
		}
	}
	return max(d, sampleMin)
}

// publish shows other goroutines what is known.
func (g *Gate) publish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.stats
	s.Policy, s.Live, s.Trigger, s.Hard = g.policy, g.at.live, g.at.trigger, g.at.hard
	s.Limit = uint64(g.allowed.limit)
	s.Expected = g.predict.expect(g.at.live)
	s.Next = time.Time{}
	if g.rate > 0 && g.charged {
		left := float64(g.at.trigger) - float64(g.used)
		s.Next = g.sampled.Add(time.Duration(min(max(left, 0)/g.rate, 1e6) * float64(time.Second)))
	}
}

// warn logs one kind of warning at most once each warnEvery.
func (g *Gate) warn(kind, message string, args ...any) {
	now := time.Now()
	if last, ok := g.warned[kind]; ok && now.Sub(last) < warnEvery {
		return
	}
	g.warned[kind] = now
	g.log.Warn(message, args...)
}
