package reqtrace

// A worker takes jobs one after the other, and wakes who waits for a job's result. A result that
// nobody waits for yet wakes nobody, and a job that lies in a channel already is taken without a
// wait: then nothing in the trace says where one job ends and the next begins. What does is that
// each job, as usual, waits once where the last one waited:
//
//	its queue is empty   waits for a job │ sleep │ wakes one  │ waits for a job │ sleep │ wakes one
//	its queue is full    sleep │ sleep │ sleep │ sleep │ wakes one who has waited for long
//	                     jobs of others        │ its own

// jobsOf counts how often a goroutine woke another one after one wait at the place of its last
// wait, and after several there.
type jobsOf struct{ once, often uint32 }

// count takes note of what g did since it last woke another one; it wakes one now.
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

// minJobs is how many jobs have to be seen of a worker before its waits are taken for jobs.
const minJobs = 8

// steady reports whether a job waits once at the place of its last wait.
func (j *jobsOf) steady() bool { return j.once >= minJobs && j.once >= 4*j.often }

// lastTwo returns the index of the last wait of g at or before i that began after since, and that
// of the one before it at the same place; -1: none.
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

// worksSince returns since when w, who ends a wait of g at b, works for it: since it last woke
// somebody else, and, where its jobs are as usual and it is the program's, since the job before; 0
// when that is not known.
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
