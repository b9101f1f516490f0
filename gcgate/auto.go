package gcgate

import (
	"runtime"
	"time"
)

// What Auto looks for.
const (
	observeCycles = 3 // of the stock runtime
	observeFor    = 500 * time.Millisecond

	// assistShare is the share of the CPU's work for requests that is done for the collector
	// instead, from which on switching the pacing off pays for the additional load of
	// collecting in a hurry.
	assistShare = 0.02
)

// observer watches the stock runtime. Owned by the control goroutine.
type observer struct {
	begin        time.Time
	cycles       uint64
	entered      uint32
	assist, user float64
	gaps         int // that a collection would have fitted into
	inGap        bool
}

// observe watches the runtime collect by itself, and decides after some cycles.
func (g *Gate) observe() {
	o := &g.observer
	if o.begin.IsZero() {
		g.restart()
		return
	}
	fits := g.gap.silence(g.sampled) >= g.predict.expect(g.at.live)
	if fits && !o.inGap {
		o.gaps++
	}
	o.inGap = fits
	cycles := g.last.cycles - o.cycles
	if cycles < observeCycles || g.sampled.Sub(o.begin) < observeFor {
		return
	}
	if g.gap.entered == o.entered {
		g.warn("unseen", "gcgate: collections, but no request has entered: wrap the handlers with Middleware, or call Enter")
		g.restart()
		return
	}
	assist, user := g.gc.cpu()
	share := 0.0
	if spent := assist - o.assist + user - o.user; spent > 0 {
		share = (assist - o.assist) / spent
	}
	choice := stock
	switch {
	case uint64(o.gaps) >= cycles:
		choice = Idle
	case share >= assistShare:
		choice = Through
	}
	g.log.Info("gcgate: auto: watched the runtime collect", "policy", choice, "why", why(choice),
		"cycles", cycles, "gaps", o.gaps, "assist_share", share, "assist_share_needed", assistShare,
		"procs", runtime.GOMAXPROCS(0), "live", g.at.live)
	g.restart()
	if choice != stock {
		g.policy = choice
		g.rebase(g.last)
	}
}

// restart begins another observation.
func (g *Gate) restart() {
	g.observer = observer{begin: g.sampled, cycles: g.last.cycles, entered: g.gap.entered}
	g.observer.assist, g.observer.user = g.gc.cpu()
}

// explain says what Auto does before it has seen anything.
func (g *Gate) explain() {
	if g.policy == Drain {
		g.log.Info("gcgate: auto: there is a signal", "policy", Drain, "why", why(Drain))
		return
	}
	g.log.Info("gcgate: auto: no signal; watching the runtime for its next collections", "policy", stock)
}

func why(p Policy) string {
	switch p {
	case Drain:
		return "another replica serves while this one collects"
	case Idle:
		return "requests leave gaps that a collection fits into"
	case Through:
		return "requests do the collector's work: without its pacing they need not"
	default:
		return "no gaps, and requests hardly assist: the gate would not help"
	}
}
