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

// network knows how the network is looked at.
type network struct {
	looked int64 // when last with success
	poll   *poll // the look that is under way; nil: the collector had not held it up
}

// looks takes note of something that a look at the network has found at t.
func (w *network) looks(c *clock, t int64) {
	before := w.looked
	w.looked = t
	if before != 0 && t-before < onePoll {
		return
	}
	w.poll = nil
	if n := len(c.steps); n > 0 && c.steps[n-1].now.idle {
		return
	}
	since := max(before, c.idled)
	if since == 0 || t-since < longPoll {
		return
	}
	from, ok := c.sums(since)
	to, _ := c.sums(t)
	if ok && to.marked-from.marked+to.stopped-from.stopped > (t-since)/2 {
		w.poll = &poll{since: since, at: t}
	}
}
