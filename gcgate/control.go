package gcgate

import (
	"math/rand/v2"
	"time"
)

// Bounds of the time between two samples.
const (
	sampleMin  = time.Millisecond
	sampleMax  = 100 * time.Millisecond
	sampleIdle = 2 * time.Millisecond // while a gap would be used
)

// control is what the control goroutine knows. No other goroutine touches it.
type control struct {
	policy   Policy // never Auto
	limit    int64
	percent  int   // GOGC of before
	original int64 // memory limit of before
	charged  bool  // GOGC is off: the gate is in charge
	net      int64 // the runtime's limit as set by the gate

	at        thresholds
	predict   predictor
	last      reading
	base      uint64 // allocated when live was counted
	used      uint64 // bytes of objects, dead ones included
	sampled   time.Time
	rate      float64   // of allocation, bytes a second: the higher of now and of late
	collected time.Time // when the last cycle ended

	gap      gap
	observer observer
	entered  time.Time       // when the state began
	lead     time.Duration   // from an announcement to the collection, moving average
	asking   <-chan struct{} // closed when the TryAcquire that is out has returned; nil: none is
	holdOff  time.Time       // no collection in a gap before: the turn was held
	running  <-chan struct{} // closed when the last collect has returned; nil: it has
	warned   map[string]time.Time
}

// init reads the collector, collects once, and takes charge.
func (c *control) init(g *Gate, limit int64) {
	c.limit, c.original = limit, g.gc.setLimit(-1)
	c.net = c.original
	c.warned = make(map[string]time.Time)
	c.policy = g.options.Policy
	g.stats.Limit = uint64(limit)
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
}

// run samples the heap and collects until Stop.
func (g *Gate) run() {
	defer g.leave()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-g.wake:
		case <-timer.C:
		}
		g.sample()
		if g.policy == stock {
			g.observe()
		}
		if reason, due := g.due(); due {
			g.collection(reason)
			g.sample()
		}
		timer.Reset(g.interval())
	}
}

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
	}
	inFlight, entered := g.requests.read()
	g.gap.see(now, inFlight, entered)
	foreign := r.cycles != g.last.cycles
	escaped := r.automatic - g.last.automatic
	g.last, g.sampled = r, now
	if foreign {
		g.rebase(r)
		if escaped > 0 && g.charged {
			g.escaped(escaped)
		}
	}
	g.used = g.at.live + r.allocated - g.base
	g.heapNow.Store(g.used)
	g.publish()
}

// escaped tells that the runtime collected although the gate is in charge.
func (g *Gate) escaped(n uint64) {
	g.mu.Lock()
	g.stats.Escaped += n
	g.mu.Unlock()
	g.warn("escaped", "gcgate: the runtime collected by itself: its memory limit was hit; give the process more memory, or lower HardRatio",
		"limit", g.net, "live", g.at.live, "enough", limitFor(&g.options, g.at.live, g.gc.overhead()))
}

// rebase starts from the heap that a cycle left.
func (g *Gate) rebase(r reading) {
	g.base, g.collected = r.allocated, time.Now()
	overhead := g.gc.overhead()
	g.at = thresholdsFor(&g.options, r.live, overhead, g.limit, g.options.Jitter*rand.Float64())
	g.used = r.live
	g.heapNow.Store(g.used)
	g.charge(overhead)
}

// charge switches the runtime's own pacing off, or on again where the limit leaves no room.
func (g *Gate) charge(overhead uint64) {
	want := g.policy != stock && !g.at.crowded
	if g.at.crowded && g.policy != stock {
		g.warn("crowded", "gcgate: the memory limit leaves no room beside the live heap; the runtime stays in charge",
			"limit", g.limit, "live", g.at.live, "enough", limitFor(&g.options, g.at.live, overhead))
	}
	net := g.limit
	if want {
		net = int64(g.at.net)
	}
	// Each call stops the world: not for a change that does not matter.
	if net > g.net+g.net/16 || net < g.net-g.net/16 {
		g.net = net
		g.gc.setLimit(net)
	}
	if want == g.charged {
		return
	}
	g.charged = want
	if want {
		g.percent = g.gc.setPercent(-1)
	} else {
		g.gc.setPercent(g.percent)
	}
}

// due says whether to collect now, and why.
func (g *Gate) due() (Reason, bool) {
	if !g.returned() {
		return 0, false
	}
	switch {
	case g.asked():
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

// asked reports whether someone waits for a collection.
func (g *Gate) asked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiters) > 0
}

// quietEnough reports whether this looks like a gap long enough to collect in. With peers to
// carry the load there is no hurry: at a low rate any two requests have a gap between them,
// and a collection at the idle threshold is worth less than one at the trigger.
func (g *Gate) quietEnough() bool {
	least := g.gap.unusual()
	if g.policy != Idle {
		least = max(least, 100*time.Millisecond, g.predict.expect(g.at.live))
	}
	return g.gap.silence(g.sampled) >= least
}

// interval is the time to the next sample: an eighth of what the heap takes to the next
// threshold at the present rate.
func (g *Gate) interval() time.Duration {
	if g.policy == stock {
		return sampleIdle
	}
	d := sampleMax
	if g.rate > 0 && g.at.trigger > g.used {
		d = time.Duration(float64(g.at.trigger-g.used) / g.rate / 8 * float64(time.Second))
	}
	if g.used >= g.at.idle && g.policy != Through {
		d = min(d, sampleIdle)
	}
	return min(max(d, sampleMin), sampleMax)
}

// publish shows other goroutines what is known.
func (g *Gate) publish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.stats
	s.Policy, s.Live, s.Trigger, s.Hard = g.policy, g.at.live, g.at.trigger, g.at.hard
	s.Expected = g.predict.expect(g.at.live)
	s.Next = time.Time{}
	if g.rate > 0 && g.charged {
		left := float64(g.at.trigger) - float64(g.used)
		s.Next = g.sampled.Add(time.Duration(min(max(left, 0)/g.rate, 1e6) * float64(time.Second)))
	}
}

// warn logs one kind of warning at most each ten seconds.
func (g *Gate) warn(kind, message string, args ...any) {
	now := time.Now()
	if last, ok := g.warned[kind]; ok && now.Sub(last) < 10*time.Second {
		return
	}
	g.warned[kind] = now
	g.log.Warn(message, args...)
}
