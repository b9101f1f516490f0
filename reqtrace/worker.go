package reqtrace

// The trace does not show where a worker's job ends, if nobody waits for its result yet and the
// next job is in the channel already. But a usual job waits once where the last one waited:
//
//	its queue is empty   waits for a job │ sleep │ wakes one  │ waits for a job │ sleep │ wakes one
//	its queue is full    sleep │ sleep │ sleep │ sleep │ wakes one who has waited for long
//	                     jobs of others        │ its own

// jobsOf counts how often a goroutine woke another one after one wait at a place, and after
// several.
type jobsOf struct{ once, often uint32 }

// count counts what g did since it last woke another goroutine.
func (j *jobsOf) count(g *goroutine) {
	var since int64
	if n := len(g.wakes); n > 0 {
		since = g.wakes[n-1]
	}
	switch last, before := g.lastTwo(len(g.segments)-1, since); {
	case last < 0:
	case before < 0:
		j.once++
	default:
		j.often++
	}
}

const minJobs = 8

func (j *jobsOf) steady() bool { return j.once >= minJobs && j.once >= 4*j.often }

// lastTwo returns the indexes of the last wait of g up to i, after since, and of the wait before it
// at the same place. -1: none.
func (g *goroutine) lastTwo(i int, since int64) (last, before int) {
	last, before = -1, -1
	for ; i >= 0 && g.segments[i].start >= since; i-- {
		switch s := &g.segments[i]; {
		case s.state != stateNetwork && s.state != stateSleep && s.state != stateChannel && s.state != stateLock:
		case last < 0:
			last = i
		case s.site == g.segments[last].site:
			return last, i
		}
	}
	return last, before
}

// worksSince returns since when w, which ends a wait of g at b, works for g. That is since it woke
// another goroutine, or since a steady worker's last job. 0: not known.
func (s *sites) worksSince(w, g *goroutine, b int64) int64 {
	since := w.wokeBefore(b)
	if !w.jobs.steady() {
		return since
	}
	last, before := w.lastTwo(w.at(b-1), since)
	if before < 0 || s.places[w.segments[last].site].owner != ownerProgram {
		return since
	}
	for i := last; i >= 0 && w.segments[i].start >= since; i-- {
		if w.segments[i].waker == g { // it was idle until g had a job for it
			return since
		}
	}
	return w.segments[before+1].start
}
