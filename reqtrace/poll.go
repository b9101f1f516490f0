package reqtrace

// poll is a look at the network that found requests. While a processor computes for the collector
// it does not look, and where none else is idle the network waits: until sysmon looks, each 10 ms
// (runtime/proc.go), for the background sweeper is always runnable.
type poll struct {
	since, at int64 // when the network was looked at before
	n         int   // requests that it found
}

const (
	onePoll  = 50_000  // ns: what is found so soon after something else, was by the same look
	longPoll = 200_000 // ns between two looks, from which on it matters
)

// looks takes note of something that a look at the network has found at t.
func (m *model) looks(t int64) {
	before := m.looked
	m.looked = t
	if before != 0 && t-before < onePoll {
		return
	}
	m.poll = nil
	if n := len(m.clock.steps); n > 0 && m.clock.steps[n-1].now.idle {
		return
	}
	since := max(before, m.clock.idled)
	if since == 0 || t-since < longPoll {
		return
	}
	from, ok := m.clock.sums(since)
	to, _ := m.clock.sums(t)
	if ok && to.marked-from.marked+to.stopped-from.stopped > (t-since)/2 {
		m.poll = &poll{since: since, at: t}
	}
}

// early returns by how much a request that was seen at a would have been seen earlier without the
// collector: what one look finds came at any time since the one before, evenly.
func (g *goroutine) early(a int64) int64 {
	p := g.poll
	if p == nil || a != g.woken {
		return 0
	}
	return (p.at - p.since) * int64(p.n-g.nth-1) / int64(p.n)
}
