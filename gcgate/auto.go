package gcgate

import (
	"context"
	"log/slog"
	"time"
)

const (
	observeCycles = 3 // of the stock runtime, if there is no memory to spend
	observeFor    = 500 * time.Millisecond

	againMin, againMax = 10 * time.Second, 10 * time.Minute
)

// observer watches the stock runtime for PolicyAuto. The control goroutine owns it.
type observer struct {
	heap *heapWatch

	begin   time.Time
	cycles  uint64
	looked  uint64 // cycles since begin at the last look at the memory
	entered uint32
	again   time.Time     // it watches nothing before
	pause   time.Duration // before again; 0: nothing was decided yet
}

func (o *observer) observe() {
	h := o.heap
	if h.sampled.Before(o.again) {
		return
	}
	if o.begin.IsZero() || !o.again.IsZero() {
		o.restart()
		return
	}
	cycles := h.last.cycles - o.cycles
	watched := cycles >= observeCycles && h.sampled.Sub(o.begin) >= observeFor
	if !watched && cycles == o.looked {
		return
	}
	o.looked = cycles
	goal, percent := spend(h.options, h.allowed, h.thresholds.live, h.collector.Roots(), h.collector.Overhead(), h.pace)
	roomy := percent >= autoPercent && percent > h.pacing.stock()
	switch uncounted := h.requests.entered == o.entered; {
	case !watched && (uncounted || !roomy):
	case uncounted:
		h.warnUncounted()
		o.restart()
	case roomy:
		o.logChoice(slog.LevelInfo, PolicyMemory, cycles, goal)
		h.policy = PolicyMemory
		h.rebase(h.last)
	default:
		level := slog.LevelInfo
		if o.pause > 0 {
			level = slog.LevelDebug
		}
		o.logChoice(level, PolicyStock, cycles, goal)
		o.pause = min(max(2*o.pause, againMin), againMax)
		o.again = h.sampled.Add(o.pause)
	}
}

func (o *observer) logChoice(level slog.Level, choice Policy, cycles, goal uint64) {
	h := o.heap
	h.log.Log(context.Background(), level, "gcgate: auto: watched the runtime collect",
		"policy", choice, "why", why(choice), "cycles", cycles, "live", h.thresholds.live, "goal", goal,
		limitAttr("limit", h.allowed.limit), "limit_from", h.allowed.from)
}

func (o *observer) review() {
	h := o.heap
	if h.policy != PolicyMemory || h.roomy {
		return
	}
	h.log.Info("gcgate: auto: watching the runtime again", "instead_of", h.policy, "live", h.thresholds.live)
	h.policy = PolicyStock
	h.rebase(h.last)
	o.restart()
	o.again = h.sampled.Add(againMin)
}

func (o *observer) interval() time.Duration {
	if o.heap.sampled.Before(o.again) || o.heap.silent() {
		return sampleRest
	}
	return sampleMax
}

func (o *observer) restart() {
	h := o.heap
	*o = observer{
		heap: h, pause: o.pause,
		begin: h.sampled, cycles: h.last.cycles, entered: h.requests.entered,
	}
}

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
	case PolicyMemory:
		return "there is memory to spend: collections come less often"
	default:
		return "there is no memory to spend: the runtime alone does as well"
	}
}
