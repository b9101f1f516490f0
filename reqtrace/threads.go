package reqtrace

import (
	"sort"
	"time"
)

// threadWindow is how much a thread's counts grew in a window.
type threadWindow struct {
	ran, waited int64
	left        int64 // the part of waited that is not assigned yet
}

// onThread is when a thread ran goroutines, by the trace.
type onThread struct {
	since     int64 // start of the current run; 0: the thread runs nothing
	stretches []stretch
	off       []offStretch // in order of time; pruned from the front
}

// offCPU is how long a thread was off its CPU: the quota was used up, or other processes ran.
type offCPU struct{ quota, others int64 }

// offStretch is a stretch of a thread's running during part of which it was off its CPU.
type offStretch struct {
	stretch
	quota, others float64 // share of the stretch
}

// queued says which share of all threads' running in a window was off the CPU.
type queued struct {
	stretch
	quota, others float64
	woken         int64 // longest wait of a thread, in ns, that no running explains: it was woken late
}

// starts records that a thread runs a goroutine from t on.
func (k *kernel) starts(thread, t int64) {
	if k == nil {
		return
	}
	x := k.threads[thread]
	if x == nil {
		x = &onThread{}
		k.threads[thread] = x
	}
	x.since = t
}

// ends records that the thread's run ended at t.
func (k *kernel) ends(thread, t int64) {
	if k == nil {
		return
	}
	if x := k.threads[thread]; x != nil && x.since != 0 {
		if k.left < len(k.at) {
			x.stretches = append(x.stretches, stretch{x.since, t})
		}
		x.since = 0
	}
}

// deschedule determines which part of each thread's running in a window it was off its CPU.
func (k *kernel) deschedule(i int, now int64) {
	w, ok := k.window(i)
	q := queued{stretch: w}
	var ran, quota, others int64
	for id, x := range k.threads {
		list := x.within(w, now)
		all := k.waits[id]
		if !ok || all == nil {
			continue
		}
		sum, long := k.less(list, all, i)
		ran += sum
		for j := range long {
			s := &long[j]
			quota += int64(s.quota * float64(s.b-s.a))
			others += int64(s.others * float64(s.b-s.a))
			x.off = append(x.off, *s)
		}
	}
	k.lost += others
	if ran > 0 {
		q.quota, q.others = float64(quota)/float64(ran), float64(others)/float64(ran)
	}
	for _, all := range k.waits {
		q.woken = max(q.woken, all[i].left)
	}
	if q.quota > 0 || q.others > 0 || q.woken > 0 {
		k.queue = append(k.queue, q)
	}
}

// less returns how long a thread ran in a window, without silences. It also returns the stretches
// that are long enough to have been off the CPU, each with the share that was.
func (k *kernel) less(list []stretch, all []threadWindow, i int) (sum int64, long []offStretch) {
	longSum := int64(0)
	for _, s := range list {
		a := s.a
		add := func(b int64) {
			if b > a {
				if sum += b - a; b-a >= stretchLeast {
					long = append(long, offStretch{stretch: stretch{a, b}})
					longSum += b - a
				}
			}
		}
		for j := range k.clock.stalls {
			st := &k.clock.stalls[j]
			if st.b <= a || st.a >= s.b {
				continue
			}
			add(st.a)
			k.take(all, i, min(st.b, s.b)-max(st.a, a))
			a = min(st.b, s.b)
		}
		add(s.b)
	}
	off := k.take(all, i, min(sum-all[i].ran, longSum))
	if longSum == 0 || off.quota+off.others == 0 {
		return sum, nil
	}
	for j := range long {
		long[j].quota, long[j].others = float64(off.quota)/float64(longSum), float64(off.others)/float64(longSum)
	}
	return sum, long
}

// take assigns up to ns of a thread's waits that reach into a window, and returns whose they were.
func (k *kernel) take(all []threadWindow, i int, ns int64) (off offCPU) {
	for j := i; j < len(all) && j < i+farthest && ns > 0; j++ {
		w := &all[j]
		if j > i && k.at[j-1]-w.waited >= k.at[i] { // this wait began after the window
			continue
		}
		d := min(w.left, ns)
		if d <= 0 {
			continue
		}
		w.left -= d
		ns -= d
		quota := int64(k.quotas(j) * float64(d))
		off.quota += quota
		off.others += d - quota
	}
	return off
}

// quotas returns which share of the waits that ended about a moment the quota caused.
func (k *kernel) quotas(i int) float64 {
	from, to := max(i-2, 0), min(i+1, len(k.at)-1)
	d := k.cpu.Moments[to].Waited - k.cpu.Moments[from].Waited
	if d <= 0 {
		return 0
	}
	sum := int64(0)
	for j := from + 1; j <= to; j++ {
		sum += k.sums[j]
	}
	if sum <= int64(d) {
		return 1
	}
	return float64(d) / float64(sum)
}

// within removes the stretches of a window from a thread's and returns them. now is the end of a
// run that still goes on.
func (x *onThread) within(w stretch, now int64) (list []stretch) {
	n := 0
	for _, s := range x.stretches {
		if a, b := max(s.a, w.a), min(s.b, w.b); a < b {
			list = append(list, stretch{a, b})
		}
		if s.b > w.b {
			x.stretches[n] = s
			n++
		}
	}
	x.stretches = x.stretches[:n]
	if x.since != 0 {
		if a, b := max(x.since, w.a), min(now, w.b); a < b {
			list = append(list, stretch{a, b})
		}
	}
	return list
}

// off returns for how long from a to b a thread was off its CPU.
func (k *kernel) off(thread int32, a, b int64) (off offCPU) {
	if k == nil || thread == 0 {
		return off
	}
	x := k.threads[int64(thread)]
	if x == nil {
		return off
	}
	for i := searchBack(len(x.off), func(i int) bool { return x.off[i].b > a }); i < len(x.off) && x.off[i].a < b; i++ {
		s := &x.off[i]
		d := float64(min(s.b, b) - max(s.a, a))
		off.quota += int64(s.quota * d)
		off.others += int64(s.others * d)
	}
	return off
}

// offIn returns for how long from a to b a goroutine's thread was off its CPU, or everything stood
// still.
func (k *kernel) offIn(g *goroutine, a, b int64) (ns int64) {
	for i := max(g.at(a), 0); i < len(g.segments); i++ {
		s, end := g.segment(i, b)
		if s.start >= b {
			break
		}
		off := k.off(s.thread, max(s.start, a), end)
		ns += off.quota + off.others
	}
	return ns + k.clock.stood(a, b)
}

// called returns for how long a thread in a system call, or in C, waited for a CPU from a to b. It
// counts waits that no running of the thread explains. It does not use them up, because several
// requests may wait for one call. Two calls of a thread in one window may count the same wait.
func (k *kernel) called(thread int32, a, b int64) (off offCPU) {
	all := k.waits[int64(thread)]
	if b-a < stretchLeast || k.at == nil || all == nil {
		return off
	}
	i := max(sort.Search(len(k.at), func(i int) bool { return k.at[i] >= a }), 1)
	for j := i; j < len(all) && j < i+farthest; j++ {
		if _, ok := k.window(j); !ok || k.at[j-1]-all[j].waited >= b {
			continue
		}
		d := min(all[j].left, b-a-off.quota-off.others)
		quota := int64(k.quotas(j) * float64(d))
		off.quota += quota
		off.others += d - quota
	}
	return off
}

// wakeLeast is the longest that a goroutine takes to reach an idle processor, or that the world is
// stopped, unless a thread waits for a CPU.
const wakeLeast = time.Millisecond

// waited moves parts of a request's wait from a to b to throttled and descheduled. In waits for
// busy processors that is the share for which these were off their CPUs. In waits for an idle
// processor and for the collector that is how long threads waited without a goroutine. before is
// the request's parts before this wait.
func (k *kernel) waited(p, before *Parts, a, b int64) {
	if k == nil || a >= b {
		return
	}
	var quota, others float64
	var woken int64
	for i := searchBack(len(k.queue), func(i int) bool { return k.queue[i].b > a }); i < len(k.queue) &&
		k.queue[i].a < b; i++ {
		w := &k.queue[i]
		d := float64(min(w.b, b)-max(w.a, a)) / float64(b-a)
		quota += w.quota * d
		others += w.others * d
		woken += w.woken
	}
	move := func(from, to Cause, d time.Duration) {
		p.ns[from] -= d
		p.ns[to] += d
	}
	for _, c := range []Cause{CauseRunqueueBusy, CauseRunqueueGC, CauseStopped, CauseAssistWait} {
		if d := float64(p.ns[c] - before.ns[c]); d > 0 && quota+others > 0 {
			move(c, CauseThrottled, time.Duration(quota*d))
			move(c, CauseDescheduled, time.Duration(others*d))
		}
	}
	for _, c := range []Cause{CauseRunqueueIdle, CauseStopped, CauseAssistWait} {
		if d := min(p.ns[c]-before.ns[c], dur(woken)); p.ns[c]-before.ns[c] >= wakeLeast && d > 0 {
			move(c, CauseDescheduled, d)
			woken -= int64(d)
		}
	}
}
