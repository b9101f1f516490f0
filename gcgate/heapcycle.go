package gcgate

import (
	"math/rand/v2"
	"runtime"
	"time"
)

func (h *heapWatch) beginCycle() (returned <-chan struct{}) {
	h.marked, h.cycleBegan = false, time.Now()
	h.cycle = collect(h.collector)
	return h.cycle
}

// collect collects in a goroutine, because Collect sweeps long after marking.
func collect(c Collector) (returned <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Collect()
	}()
	return done
}

// cycleEnded reports whether the gate's cycle has marked. runtime.GC first waits for a running
// cycle of the runtime's own. The end of that one counts as escaped.
func (h *heapWatch) cycleEnded() bool {
	returned := h.returned() // first, so that the reading has all of Collect
	now := readCollector(h.collector)
	cycles, automatic := now.cycles-h.last.cycles, now.automatic-h.last.automatic
	if cycles > 0 {
		was, heap, inCharge := h.thresholds, h.thresholds.live+now.allocated-h.base, h.inCharge && !h.noCycleYet
		h.last.cycles, h.last.automatic = now.cycles, now.automatic
		h.rebase(now)
		h.publish()
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

func (h *heapWatch) returned() bool {
	if h.cycle != nil && isClosed(h.cycle) {
		h.cycle = nil
	}
	return h.cycle == nil
}

func (h *heapWatch) escaped(n uint64, was thresholds, heap uint64) {
	h.status.update(func(s *Stats) { s.Escaped += n })
	overhead := h.collector.Overhead()
	switch {
	case h.overruled:
	case int64(was.safetyLimit) >= h.allowed.limit:
		h.warnings.warn("escaped limit",
			"gcgate: the runtime collected by itself because the memory limit is near; raise it",
			"fix", "or lower HardRatio and MaxTriggerBytes, so that the gate collects earlier",
			"limit", h.allowed.limit, "from", h.allowed.from, "heap", heap, "live", h.thresholds.live,
			"enough", limitFor(h.options, h.thresholds.live, overhead))
	case heap < was.hard:
		h.warnings.warn("escaped outside",
			"gcgate: the runtime collected by itself because memory outside the heap grew; the gate has "+
				"moved its safety limit",
			"fix", "nothing; if this is said often, look for goroutines that pile up",
			"safety_limit", was.safetyLimit, "heap", heap, "outside", overhead)
	default:
		h.warnings.warn("escaped hard",
			"gcgate: the runtime collected by itself because the heap outgrew hard; no memory limit is "+
				"near; raise HardRatio",
			"fix", "or shorten AnnounceTimeout and DrainTimeout",
			"heap", heap, "trigger", was.trigger, "hard", was.hard, "safety_limit", was.safetyLimit,
			"bytes_per_second", uint64(h.rate))
	}
}

func (h *heapWatch) rebase(r reading) {
	h.base, h.collected = r.allocated, time.Now()
	h.requests.cycleEnded(h.collector.Marked())
	percent, overruled := h.pacing.programPercent()
	if h.overruled = overruled; overruled {
		h.warnings.warn("percent",
			"gcgate: the program has set GOGC (debug.SetGCPercent) while the gate is in charge of "+
				"it; set it before Start",
			"percent", percent, "instead", "the gate sets its own again; the program's holds once the gate has stopped")
	}
	h.jitter = h.options.Jitter * rand.Float64()
	h.noCycleYet = false
	h.growth.see(r)
	for tries := 0; !h.settle(r.live) && tries < limitTries; tries++ {
	}
}

func (h *heapWatch) overdueEnded() {
	h.warnings.over("gcgate: the collection that took too long has ended", "overdue")
}

// predictor expects the next collection to take as long as the last ones did per live byte.
type predictor struct {
	seconds, bytes float64
}

const (
	predictWeight = 0.3  // of the newest collection
	predictMargin = 1.25 // the longest takes 1.35 of the mean

	priorBytes   = 32 << 20
	priorPerByte = 1e-9 // seconds, on each core

	predictMin, predictMax = time.Millisecond, 10 * time.Second
)

func newPredictor(took time.Duration, live uint64) predictor {
	return predictor{
		seconds: priorBytes*priorPerByte/float64(min(runtime.GOMAXPROCS(0), 4)) + took.Seconds(),
		bytes:   priorBytes + float64(live),
	}
}

func (p *predictor) learn(took time.Duration, live uint64) {
	p.seconds += predictWeight * (took.Seconds() - p.seconds)
	p.bytes += predictWeight * (float64(live) - p.bytes)
}

func (p *predictor) expect(live uint64) time.Duration {
	s := p.seconds / max(p.bytes, 1) * float64(live) * predictMargin
	return max(time.Duration(min(s, predictMax.Seconds())*float64(time.Second)), predictMin)
}
