package reqtrace

import (
	"cmp"
	"slices"
	"sort"

	"golang.org/x/exp/trace"
)

// clock knows why runnable goroutines did not run: the world was stopped, a processor was still
// idle, or all were busy, some with marking. It is a step function of time, kept as running sums:
//
//	      stopped        idle     all held, 1 of 2 marks      all held
//	├────────────────┼──────────┼──────────────────────────┼────────────>
//	step             step       step                       step
//
// A wait is the difference of two sums. What stopped, idle and marked leave of it is the wait
// behind other goroutines.
type clock struct {
	steps  []step // by time
	stalls []stall
	runs   []run  // by their ends
	halts  []halt // by others than the collector

	procs   []*proc
	beyond  proc // for impossible numbers of a corrupt trace
	max     int
	running int
	marking int // with a goroutine that works for the collector
	stops   int // of the world, under way
}

const maxProcs = 1 << 16

type proc struct {
	running, marking bool
	last             siteID // where the goroutine before was
	who              int64  // the last goroutine; 0: none yet
	since            int64
}

// halt is a stop of the world by the program.
type halt struct {
	a, b int64
	by   siteID
}

func (c *clock) resume(by siteID, t int64) {
	if n := len(c.halts); n > 0 && c.halts[n-1].by == by {
		c.halts[n-1].b = min(c.halts[n-1].b, t)
	}
}

// run is a goroutine's time on a processor, of at least longRun.
type run struct {
	start, end int64
	site       siteID
}

const (
	longRun = 100_000
	maxRuns = 256 // looked at for a wait
	maxHogs = 8   // told apart in a wait
)

func (p *proc) takes(g *goroutine, from trace.GoState, t int64) {
	if from != trace.GoSyscall || p.who != g.id { // otherwise it kept the processor
		p.who, p.since = g.id, t
	}
}

// After a system call it may be back before another goroutine.
func (c *clock) leaves(p *proc, site siteID, forCall bool, t int64) {
	p.last = site
	if !forCall && t-p.since >= longRun && p.who != 0 && site != 0 {
		c.runs = append(c.runs, run{p.since, t, site})
	}
}

// hog returns who had processors for longest from a to b, or 0, and its longest run.
func (c *clock) hog(a, b int64) (site siteID, longest int64) {
	type hog struct {
		site         siteID
		sum, longest int64
	}
	var hogs [maxHogs]hog
	i := searchBack(len(c.runs), func(i int) bool { return c.runs[i].end > a })
	for _, r := range c.runs[i:min(len(c.runs), i+maxRuns)] {
		d := min(r.end, b) - max(r.start, a)
		if d <= 0 {
			continue
		}
		for j := range hogs {
			if h := &hogs[j]; h.sum == 0 || h.site == r.site {
				h.site, h.sum, h.longest = r.site, h.sum+d, max(h.longest, r.end-r.start)
				break
			}
		}
	}
	most := slices.MaxFunc(hogs[:], func(p, q hog) int { return cmp.Compare(p.sum, q.sum) })
	return most.site, most.longest
}

type step struct {
	start         int64
	stopped, idle int64 // ns until start
	marked        int64 // in shares of the processors
	now           runqueue
}

type runqueue struct {
	stopped, idle bool
	marking, all  int32
}

func (c *clock) update(t int64) {
	all := max(c.max, 1)
	now := runqueue{all: 1}
	switch {
	case c.stops > 0:
		now.stopped = true
	case c.running < all:
		now.idle = true
	default:
		now.marking, now.all = int32(min(c.marking, all)), int32(c.running)
	}
	n := len(c.steps)
	if n == 0 {
		c.steps = append(c.steps, step{start: t, now: now})
		return
	}
	last := &c.steps[n-1]
	if last.now == now {
		return
	}
	if n := len(c.stalls); now.idle && n > 0 && c.stalls[n-1].open {
		c.stalls[n-1].drained, c.stalls[n-1].open = t, false
	}
	next := last.until(t)
	next.now = now
	if last.start == t {
		*last = next
		return
	}
	c.steps = append(c.steps, next)
}

func (s *step) until(t int64) step {
	next := *s
	dt := t - s.start
	next.start = t
	switch {
	case s.now.stopped:
		next.stopped += dt
	case s.now.idle:
		next.idle += dt
	default:
		next.marked += dt * int64(s.now.marking) / int64(s.now.all)
	}
	return next
}

// wait adds what a goroutine that was runnable from a to b waited for. A stall includes the wait
// for what piled up in it.
func (c *clock) wait(p *Parts, a, b int64) {
	for i := range c.stalls {
		s := &c.stalls[i]
		from, to := max(a, s.a), min(b, s.end())
		if from >= to {
			continue
		}
		c.queued(p, a, from)
		p.ns[s.cause] += dur(to - from)
		a = to
	}
	c.queued(p, a, b)
}

// queued is wait without stalls.
func (c *clock) queued(p *Parts, a, b int64) {
	if a >= b {
		return
	}
	from, ok := c.sums(a)
	to, _ := c.sums(b)
	if !ok {
		p.ns[CauseRunqueueBusy] += dur(b - a)
		return
	}
	stopped, idle, marked := to.stopped-from.stopped, to.idle-from.idle, to.marked-from.marked
	p.ns[CauseStopped] += dur(stopped)
	p.ns[CauseRunqueueIdle] += dur(idle)
	p.ns[CauseRunqueueGC] += dur(marked)
	p.ns[CauseRunqueueBusy] += dur(b - a - stopped - idle - marked)
}

// stoppedAtEnd returns how much a stopped world adds to a wait for a time or a connection. The wait
// ends with the stop, though its reason may have come before.
func (c *clock) stoppedAtEnd(a, b int64) int64 {
	const soon = 1e6 // ns in which many goroutines may be woken
	i := searchBack(len(c.steps), func(i int) bool { return c.steps[i].start > b }) - 1
	for end := b; i >= 0 && end > a && b-end <= soon; i-- {
		s := &c.steps[i]
		if s.now.stopped {
			if b-end > end-s.start { // too short to matter
				return 0
			}
			return end - max(s.start, a)
		}
		end = s.start
	}
	return 0
}

func (c *clock) sums(t int64) (step, bool) {
	i := searchBack(len(c.steps), func(i int) bool { return c.steps[i].start > t }) - 1
	if i < 0 {
		return step{}, false
	}
	return c.steps[i].until(t), true
}

func (c *clock) prune(horizon int64) {
	c.runs = dropUntil(c.runs, func(r *run) bool { return r.end > horizon })
	c.halts = dropUntil(c.halts, func(h *halt) bool { return h.b > horizon })
	if i := sort.Search(len(c.steps), func(i int) bool { return c.steps[i].start > horizon }) - 1; i > 0 {
		c.steps = slices.Delete(c.steps, 0, i)
	}
	c.stalls = slices.DeleteFunc(c.stalls, func(s stall) bool { return s.end() < horizon })
}

func dropUntil[T any](list []T, needed func(*T) bool) []T {
	return slices.Delete(list, 0, sort.Search(len(list), func(i int) bool { return needed(&list[i]) }))
}

func (c *clock) proc(id int64) *proc {
	if uint64(id) >= maxProcs {
		return &c.beyond
	}
	for int64(len(c.procs)) <= id {
		c.procs = append(c.procs, &proc{})
	}
	return c.procs[id]
}

func (c *clock) run(t, id int64, running bool) {
	p := c.proc(id)
	if p.running == running {
		return
	}
	p.running = running
	if running {
		c.running++
	} else {
		c.running--
		c.hold(t, p, false)
	}
	c.update(t)
}

// hold records whether p's goroutine works for the collector.
func (c *clock) hold(t int64, p *proc, marking bool) {
	if p.marking != marking {
		p.marking = marking
		if marking {
			c.marking++
		} else {
			c.marking--
		}
		c.update(t)
	}
}
