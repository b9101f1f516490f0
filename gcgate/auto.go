package gcgate

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"
)

const (
	observeCycles = 3 // of the stock runtime
	observeFor    = 500 * time.Millisecond

	againMin, againMax = 10 * time.Second, 10 * time.Minute
)

// observer watches the stock runtime. The control goroutine owns it.
type observer struct {
	heap *heapWatch

	begin   time.Time
	cycles  uint64
	looked  uint64 // cycles since begin
	entered uint32
	again   time.Time     // the next watch begins
	pause   time.Duration // 0: nothing was decided yet
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
	goal, percent := memoryGoal(h.options, h.allowed, h.thresholds.live, h.collector.Roots(),
		h.collector.Overhead(), h.pace)
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
		return "there is no memory to spend: the runtime does as well without the gate"
	}
}

const (
	adviceFirst   = 500 * time.Millisecond
	adviceEvery   = time.Minute
	adviceCycles  = 3
	adviceEntered = 100
)

// adviser says what a second replica would improve. The control goroutine owns it.
type adviser struct {
	heap *heapWatch

	begin    time.Time
	policy   Policy
	cycles   uint64
	marked   time.Duration
	entered  uint64
	overlaps float64

	logged bool
}

func (a *adviser) look() {
	h, t := a.heap, a.heap.requests
	if a.begin.IsZero() || a.policy != h.policy {
		a.restart()
		return
	}
	seen := h.sampled.Sub(a.begin)
	cycles, entered := h.last.cycles-a.cycles, t.total-a.entered
	if seen < adviceFirst || a.logged && seen < adviceEvery || cycles < adviceCycles || entered < adviceEntered {
		return
	}
	share := min((a.overlapsNow()-a.overlaps)/float64(entered), 1)
	advice := a.advise(seen, (t.marked-a.marked)/time.Duration(cycles), cycles, share)
	h.status.update(func(s *Stats) { s.Advice = advice })
	if !a.logged {
		a.logged = true
		h.log.Info("gcgate: advice: " + advice)
	}
	a.restart()
}

func (a *adviser) restart() {
	h, t := a.heap, a.heap.requests
	a.begin, a.policy, a.cycles, a.marked = h.sampled, h.policy, h.last.cycles, t.marked
	a.entered, a.overlaps = t.total, a.overlapsNow()
}

func (a *adviser) overlapsNow() float64 {
	t := a.heap.requests
	return float64(t.overlapped()) + t.overlappedOther
}

func (a *adviser) advise(seen, marked time.Duration, cycles uint64, share float64) string {
	h := a.heap
	s := fmt.Sprintf("%.2g%% of the requests overlapped a collection, each of which marked for %v, one in %v",
		100*share, marked.Round(100*time.Microsecond), (seen / time.Duration(cycles)).Round(time.Millisecond))
	s += ": with a second replica behind a balancer, and Options.Signals and Turns set, almost none would"
	if h.policy == PolicyMemory && h.roomy || h.options.MaxTriggerBytes != 0 {
		return s
	}
	enough := uint64(spendRatio*float64(h.thresholds.live)/spendShare) + h.collector.Overhead()
	switch limit := h.allowed.limit; {
	case limit == math.MaxInt64:
		s += fmt.Sprintf("; with a memory limit set (GOMEMLIMIT, or the container's), such as %d MiB, "+
			"PolicyMemory would spend it on fewer collections", enough>>20+1)
	case uint64(limit) < enough:
		s += fmt.Sprintf("; with a memory limit of %d MiB, and not %d, PolicyMemory would spend it "+
			"on fewer collections",
			enough>>20+1, limit>>20)
	default:
		s += "; PolicyMemory would spend the memory that the limit leaves on fewer collections"
	}
	return s
}
