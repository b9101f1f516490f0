package gcgate

const (
	growthCycles = 4       // that are looked at, with the oldest as the base
	growthShare  = 1. / 20 // of what was allocated during them must be live, at least
	growthLeast  = 1. / 64 // of the live heap, likewise: less is chance
	growthSlow   = 1. / 8  // of the live heap at which the gate ran out of room: a slow leak

	// firstRatio is minTriggerRatio until it is known whether the live heap grows. A drained
	// collection tells that, and overlaps no request.
	firstRatio = 1.05
)

// growth watches whether the live heap grows from cycle to cycle. A memory limit does not help
// then. The control goroutine owns it.
type growth struct {
	seen     []reading // of the last cycles, the newest last
	noRoomAt uint64    // the live heap at which the gate ran out of room; 0: it has room
}

// see notes what a cycle has left. It may see the same one again.
func (g *growth) see(r reading) {
	switch n := len(g.seen); {
	case n > 0 && g.seen[n-1].cycles == r.cycles:
		return
	case n == growthCycles:
		g.seen = append(g.seen[:0], g.seen[1:]...)
	}
	g.seen = append(g.seen, r)
}

func (g *growth) known() bool { return len(g.seen) > 1 }

func (g *growth) grows() bool {
	if !g.known() {
		return false
	}
	first, last := g.seen[0], g.seen[len(g.seen)-1]
	if g.noRoomAt > 0 && float64(last.live) >= (1+growthSlow)*float64(g.noRoomAt) {
		return true
	}
	more := float64(last.live) - float64(first.live)
	return more >= growthShare*float64(last.allocated-first.allocated) && more >= growthLeast*float64(last.live)
}

func (g *growth) noteRoom(noRoom bool, live uint64) {
	switch {
	case !noRoom:
		g.noRoomAt = 0
	case g.noRoomAt == 0:
		g.noRoomAt = live
	}
}
