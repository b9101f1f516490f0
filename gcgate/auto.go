package gcgate

import (
	"context"
	"log/slog"
	"time"
)

// What PolicyAuto looks for.
const (
	observeCycles = 3 // of the stock runtime, where there is no memory to spend
	observeFor    = 500 * time.Millisecond

	// observeMin is the shortest time between two samples: each costs a wake-up, and a pause among
	// many that is missed does not matter.
	observeMin = 10 * time.Millisecond

	// While the stock runtime stays, it is watched again after a pause, doubled each time.
	againMin, againMax = 10 * time.Second, 10 * time.Minute

	// strayMost is how many collections in a row may find no gap before PolicyIdle is given up: at the
	// trigger it would collect beside requests, and at saturation that is far worse than the runtime.
	strayMost = 3
)

// observer watches the stock runtime for PolicyAuto. Owned by the control goroutine.
type observer struct {
	heap *heapWatch
	log  *slog.Logger

	begin   time.Time
	cycles  uint64
	looked  uint64 // cycles since begin when memory was looked at
	entered uint32
	gaps    int // that a collection would have fitted into
	inGap   bool
	again   time.Time     // nothing is watched before
	pause   time.Duration // before again; 0: nothing was decided yet
	stray   int           // collections of PolicyIdle in a row that found no gap
}

// observe watches the runtime collect by itself, and decides: at the first cycle where there is memory to spend, else after some.
func (o *observer) observe() {
	h := o.heap
	if h.sampled.Before(o.again) {
		return
	}
	if o.begin.IsZero() || !o.again.IsZero() {
		o.restart()
		return
	}
	fits := h.gap.silence(h.sampled) >= h.minGap()
	if fits && !o.inGap {
		o.gaps++
	}
	o.inGap = fits
	cycles := h.last.cycles - o.cycles
	watched := cycles >= observeCycles && h.sampled.Sub(o.begin) >= observeFor
	if !watched && cycles == o.looked {
		return
	}
	o.looked = cycles
	goal, percent := spend(h.options, h.allowed, h.thresholds.live, h.collector.Roots(), h.collector.Overhead(), h.pace)
	roomy := percent >= autoPercent && percent > h.pacing.stock()
	uncounted := h.gap.entered == o.entered
	switch {
	case roomy && !uncounted: // memory shows at once; gaps take a while to
	case !watched:
		return
	case uncounted:
		h.warnUncounted()
		o.restart()
		return
	}
	choice := PolicyStock
	switch {
	case roomy:
		choice = PolicyMemory
	case uint64(o.gaps) >= cycles:
		choice = PolicyIdle
	}
	level := slog.LevelInfo
	if choice == PolicyStock && o.pause > 0 {
		level = slog.LevelDebug // as before
	}
	o.log.Log(context.Background(), level, "gcgate: auto: watched the runtime collect", "policy", choice, "why", why(choice),
		"cycles", cycles, "gaps", o.gaps, "live", h.thresholds.live, "goal", goal, limitAttr("limit", h.allowed.limit), "limit_from", h.allowed.from)
	if choice == PolicyStock {
		o.pause = min(max(2*o.pause, againMin), againMax)
		o.again, o.inGap = h.sampled.Add(o.pause), false
		return
	}
	h.policy = choice
	h.rebase(h.last)
}

// review gives up what was chosen and does not fit any more: PolicyMemory without memory to spend, and
// PolicyIdle without gaps. reason is that of a collection of the gate's own.
func (o *observer) review(collected bool, reason Reason) {
	h := o.heap
	switch {
	case h.policy == PolicyMemory && !h.roomy:
	case h.policy == PolicyIdle && collected:
		if o.stray++; reason == ReasonIdleGap || reason == ReasonPeriodic || reason == ReasonRequested {
			o.stray = 0
		}
		if o.stray < strayMost {
			return
		}
	default:
		return
	}
	o.log.Info("gcgate: auto: watching the runtime again", "instead_of", h.policy, "live", h.thresholds.live)
	h.policy = PolicyStock
	h.rebase(h.last)
	o.restart()
	o.again = h.sampled.Add(againMin)
}

// interval is the time to the next sample of the stock runtime: as long as the pauses that are
// looked for, which are long against the time between two requests.
func (o *observer) interval() time.Duration {
	if o.inGap || o.heap.sampled.Before(o.again) {
		return sampleRest
	}
	return min(max(o.heap.minGap(), observeMin), sampleRest)
}

// restart begins another observation.
func (o *observer) restart() {
	h := o.heap
	*o = observer{heap: h, log: o.log, begin: h.sampled, cycles: h.last.cycles, entered: h.gap.entered, pause: o.pause}
}

// logAuto says what PolicyAuto does before it has seen anything.
func logAuto(log *slog.Logger, p Policy) {
	if p == PolicyDrain {
		log.Info("gcgate: auto: there is a signal", "policy", p, "why", why(p))
		return
	}
	log.Info("gcgate: auto: no signals, so collections will overlap requests; watching what helps a single replica",
		"policy", p,
		"fix", "with several replicas behind a load balancer, set Options.Signals and Turns, "+
			"or PolicyShed and Turns if the balancer tries another replica after a 503")
}

func why(p Policy) string {
	switch p {
	case PolicyDrain:
		return "another replica serves while this one collects"
	case PolicyIdle:
		return "requests leave gaps that a collection fits into"
	case PolicyMemory:
		return "there is memory to spend: collections come less often"
	default:
		return "no memory to spend and no gaps: the runtime alone does as well"
	}
}
