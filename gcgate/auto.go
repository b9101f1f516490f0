package gcgate

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// What Auto looks for.
const (
	observeCycles = 3 // of the stock runtime
	observeFor    = 500 * time.Millisecond

	// glanceMin is the shortest time between two looks: each costs a wake-up, and a pause among
	// many that is missed does not matter.
	glanceMin = 10 * time.Millisecond

	// While the stock runtime stays, it is watched again after a pause, doubled each time.
	againMin, againMax = 10 * time.Second, 10 * time.Minute

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
	again        time.Time     // nothing is watched before
	pause        time.Duration // before again; 0: nothing was decided yet
}

// observe watches the runtime collect by itself, and decides after some cycles.
func (g *Gate) observe() {
	o := &g.observer
	if g.sampled.Before(o.again) {
		return
	}
	if o.begin.IsZero() || !o.again.IsZero() {
		g.restart()
		return
	}
	fits := g.gap.silence(g.sampled) >= g.leastGap()
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
	level := slog.LevelInfo
	if choice == stock && o.pause > 0 {
		level = slog.LevelDebug // as before
	}
	g.log.Log(context.Background(), level, "gcgate: auto: watched the runtime collect", "policy", choice, "why", why(choice),
		"cycles", cycles, "gaps", o.gaps, "assist_share", share, "assist_share_needed", assistShare,
		"procs", runtime.GOMAXPROCS(0), "live", g.at.live)
	if choice == stock {
		o.pause = min(max(2*o.pause, againMin), againMax)
		o.again, o.inGap = g.sampled.Add(o.pause), false
		return
	}
	g.policy = choice
	g.rebase(g.last)
}

// glance is the time to the next look at the stock runtime: as long as the pauses that are
// looked for, which are long against the time between two requests.
func (g *Gate) glance() time.Duration {
	if g.observer.inGap || g.sampled.Before(g.observer.again) {
		return sampleRest
	}
	return min(max(g.leastGap(), glanceMin), sampleRest)
}

// restart begins another observation.
func (g *Gate) restart() {
	g.observer = observer{begin: g.sampled, cycles: g.last.cycles, entered: g.gap.entered, pause: g.observer.pause}
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
