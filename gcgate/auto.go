package gcgate

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// What PolicyAuto looks for.
const (
	observeCycles = 3 // of the stock runtime
	observeFor    = 500 * time.Millisecond

	// observeMin is the shortest time between two samples: each costs a wake-up, and a pause among
	// many that is missed does not matter.
	observeMin = 10 * time.Millisecond

	// While the stock runtime stays, it is watched again after a pause, doubled each time.
	againMin, againMax = 10 * time.Second, 10 * time.Minute

	// assistShare is the share of the CPU's work for requests that is done for the collector
	// instead, from which on switching the pacing off pays for the additional load of
	// collecting in a hurry.
	assistShare = 0.02
)

// observer watches the stock runtime for PolicyAuto. Owned by the control goroutine.
type observer struct {
	heap *heapWatch
	log  *slog.Logger

	begin        time.Time
	cycles       uint64
	entered      uint32
	assist, user float64
	gaps         int // that a collection would have fitted into
	inGap        bool
	again        time.Time     // nothing is watched before
	pause        time.Duration // before again; 0: nothing was decided yet
}

// observe watches the runtime collect by itself, and decides after some cycles.
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
	if cycles < observeCycles || h.sampled.Sub(o.begin) < observeFor {
		return
	}
	if h.gap.entered == o.entered {
		h.warn("unseen", "gcgate: collections, but no request has entered: wrap the handlers with httpgate.Wrap, or call Gate.Enter")
		o.restart()
		return
	}
	assist, user := h.collector.CPU()
	share := 0.0
	if spent := assist - o.assist + user - o.user; spent > 0 {
		share = (assist - o.assist) / spent
	}
	choice := PolicyStock
	switch {
	case uint64(o.gaps) >= cycles:
		choice = PolicyIdle
	case share >= assistShare:
		choice = PolicyThrough
	}
	level := slog.LevelInfo
	if choice == PolicyStock && o.pause > 0 {
		level = slog.LevelDebug // as before
	}
	o.log.Log(context.Background(), level, "gcgate: auto: watched the runtime collect", "policy", choice, "why", why(choice),
		"cycles", cycles, "gaps", o.gaps, "assist_share", share, "assist_share_needed", assistShare,
		"procs", runtime.GOMAXPROCS(0), "live", h.thresholds.live)
	if choice == PolicyStock {
		o.pause = min(max(2*o.pause, againMin), againMax)
		o.again, o.inGap = h.sampled.Add(o.pause), false
		return
	}
	h.policy = choice
	h.rebase(h.last)
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
	o.assist, o.user = h.collector.CPU()
}

// logAuto says what PolicyAuto does before it has seen anything.
func logAuto(log *slog.Logger, p Policy) {
	if p == PolicyDrain {
		log.Info("gcgate: auto: there is a signal", "policy", p, "why", why(p))
		return
	}
	log.Info("gcgate: auto: no signal; watching the runtime for its next collections", "policy", p)
}

func why(p Policy) string {
	switch p {
	case PolicyDrain:
		return "another replica serves while this one collects"
	case PolicyIdle:
		return "requests leave gaps that a collection fits into"
	case PolicyThrough:
		return "requests do the collector's work: without its pacing they need not"
	default:
		return "no gaps, and requests hardly assist: the gate would not help"
	}
}
