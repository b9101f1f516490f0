package reqtrace

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/cpuwatch"
)

// kernel relates the kernel's counts to the trace. Moments, some 10 ms apart, divide the trace into
// windows.
//
//	moments     ├───────── window ─────────┤───────── window ─────────┤
//	the quota                 Waited + d ──^ explains the longest silence that ends here
//	a thread    │ runs, by the trace │      │ runs │ call│
//	            Ran + c, Waited + g ───────^ explains running beyond c, then calls
//
// The kernel counts a wait when it ends, so a time is settled up to a window later. Requests are
// taken apart after that (turns.pending).
//
// Invariants:
//   - An increase of Waited explains at most one silence, and a silence is explained once.
//   - A thread is descheduled for at most the time that the kernel counted.
//   - Time in a silence is not descheduled as well.
type kernel struct {
	clock   *clock
	cpu     *cpuwatch.CPU
	report  Quota
	at      []int64
	waits   map[int64][]threadWindow
	sums    []int64
	next    int // first moment whose silence is open
	left    int // first moment whose threads are open
	silent  []silence
	threads map[int64]*onThread
	queue   []queued
	lost    int64
	until   int64 // earlier times are settled
}

const (
	silenceLeast  = int64(time.Millisecond)       // that the quota can cause
	silenceSlack  = int64(time.Millisecond)       // between a silence's end and the moment
	longestQuiet  = int64(200 * time.Millisecond) // window whose silence the quota may explain
	longestWindow = int64(time.Second)            // window whose thread counts are used
	stretchLeast  = int64(time.Millisecond)
	farthest      = 100 // windows that a wait may reach back
)

type silence struct {
	a, b  int64
	taken bool
}

type stretch struct{ a, b int64 }

func newKernel(cpu *cpuwatch.CPU, c *clock) *kernel {
	if cpu == nil || len(cpu.Moments) < 2 {
		cpu = &cpuwatch.CPU{}
	}
	k := &kernel{
		clock: c, cpu: cpu, waits: map[int64][]threadWindow{}, sums: make([]int64, len(cpu.Moments)),
		threads: map[int64]*onThread{}, next: 1, left: 1,
	}
	before := map[int64]cpuwatch.ThreadTime{}
	for i := range cpu.Moments {
		for _, t := range cpu.Moments[i].Threads {
			if k.waits[t.ID] == nil {
				k.waits[t.ID] = make([]threadWindow, len(cpu.Moments))
			}
			if p, ok := before[t.ID]; ok {
				waited := int64(t.Waited - p.Waited)
				k.waits[t.ID][i] = threadWindow{ran: int64(t.Ran - p.Ran), waited: waited, left: waited}
				k.sums[i] += waited
			}
			before[t.ID] = t
		}
	}
	return k
}

func (k *kernel) during(a, b int64) (first, last int) {
	last = len(k.cpu.Moments) - 1
	if k.at == nil {
		return 0, last
	}
	first = max(sort.Search(last, func(i int) bool { return k.at[i] > a })-1, 0)
	return first, sort.Search(last, func(i int) bool { return k.at[i] >= b })
}

// sync relates the clocks by the trace's first snapshot.
func (k *kernel) sync(s *trace.ClockSnapshot) {
	if k.at != nil {
		return
	}
	for i := range k.cpu.Moments {
		k.at = append(k.at, int64(s.Trace)+int64(k.cpu.Moments[i].At.Sub(s.Wall)))
	}
}

func (k *kernel) window(i int) (w stretch, ok bool) {
	w = stretch{k.at[i-1], k.at[i]}
	return w, w.b-w.a <= longestWindow
}

func (k *kernel) passes(m *model, a, b int64) bool {
	if k.next >= len(k.at) { // also before sync
		return false
	}
	if b-a >= silenceLeast {
		k.silent = append(k.silent, silence{a: a, b: b})
	}
	if b < k.at[k.next]+silenceSlack {
		return false
	}
	k.settle(m, b)
	return true
}

func (k *kernel) settle(m *model, t int64) {
	if k.at == nil {
		return
	}
	for k.next < len(k.at) && k.at[k.next]+silenceSlack <= t {
		k.throttle(m, k.next)
		k.next++
	}
	known := k.at[k.next-1] - silenceSlack
	if k.next == len(k.at) {
		known = t
	}
	k.silent = slices.DeleteFunc(k.silent, func(s silence) bool { return s.b <= known })
	end := known
	if len(k.silent) > 0 {
		end = min(end, k.silent[0].a)
	}
	for k.left < k.next && k.at[k.left] <= end+silenceSlack {
		k.deschedule(k.left, t)
		k.left++
	}
	k.until = min(end, k.at[k.left-1])
	if k.left == len(k.at) {
		k.until = math.MaxInt64
	}
}

// settled returns the time whose causes are final.
func (k *kernel) settled() int64 {
	switch {
	case k.at == nil:
		return math.MaxInt64
	case k.next < len(k.at):
		if w, ok := k.window(k.next); !ok && k.left == k.next && len(k.silent) == 0 {
			return w.b - silenceSlack
		}
	}
	return k.until
}

func (k *kernel) prune(horizon int64) {
	for _, x := range k.threads {
		x.off = dropUntil(x.off, func(s *offStretch) bool { return s.b > horizon })
	}
	k.queue = dropUntil(k.queue, func(q *queued) bool { return q.b > horizon })
}

func (k *kernel) finish(r *Report, a, b int64) {
	if !k.cpu.Grouped {
		r.Machine.Grid = grid(r.Machine.Spans)
	}
	if len(k.cpu.Moments) == 0 {
		return
	}
	first, last := k.during(a, b)
	from, to, q := &k.cpu.Moments[first], &k.cpu.Moments[last], &k.report
	q.CPUs, q.Time = k.cpu.Quota, to.Waited-from.Waited
	q.Periods, q.Throttled = int(to.Periods-from.Periods), int(to.Throttled-from.Throttled)
	if k.cpu.Grouped {
		r.Quota = q
	}
	delay := -dur(k.lost) - q.Time // without what is the quota's or descheduled
	for _, waited := range k.sums[first+1 : last+1] {
		delay += dur(waited)
	}
	r.Machine.RunDelay = max(delay, 0)
	if k.at != nil {
		r.Machine.Threads = len(k.waits)
	}
}

type threadWindow struct {
	ran, waited int64
	left        int64 // not assigned yet
}

type onThread struct {
	since     int64 // of what it does now; 0: nothing
	call      bool
	stretches []threadStretch
	off       []offStretch
}

type threadStretch struct {
	stretch
	call bool
}

type offCPU struct{ quota, others int64 }

type offStretch struct {
	stretch
	quota, others float64
}

// queued is the share of a window for which running threads were off the CPU.
type queued struct {
	offStretch
	woken int64 // longest wait of a thread to be woken, in ns
}

func (k *kernel) starts(thread int32, call bool, t int64) {
	if thread == 0 {
		return
	}
	x := k.threads[int64(thread)]
	if x == nil {
		x = &onThread{}
		k.threads[int64(thread)] = x
	}
	x.since, x.call = t, call
}

func (k *kernel) ends(thread int32, t int64) {
	if x := k.threads[int64(thread)]; x != nil && x.since != 0 {
		if k.left < len(k.at) {
			x.stretches = append(x.stretches, threadStretch{stretch{x.since, t}, x.call})
		}
		x.since = 0
	}
}

// deschedule determines how long each thread was off its CPU in a window. Its waits belong to its
// running, as far as it ran less than the trace shows. The rest belongs to its calls, and then to
// its next wake-up.
func (k *kernel) deschedule(i int, now int64) {
	w, ok := k.window(i)
	q := queued{offStretch: offStretch{stretch: w}}
	var ran, quota, others int64
	for id, x := range k.threads {
		runs, calls := x.within(w, now)
		all := k.waits[id]
		if !ok || all == nil {
			continue
		}
		long, sum := k.outside(runs, all, i)
		longCalls, _ := k.outside(calls, all, i)
		first := len(x.off)
		off := k.spread(x, long, all, i, sum-all[i].ran)
		inCalls := k.spread(x, longCalls, all, i, math.MaxInt64)
		slices.SortFunc(x.off[first:], func(p, q offStretch) int { return cmp.Compare(p.a, q.a) })
		ran, quota, others = ran+sum, quota+off.quota, others+off.others
		k.lost += off.others + inCalls.others
	}
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

func (k *kernel) outside(list []stretch, all []threadWindow, i int) (long []stretch, sum int64) {
	for _, s := range list {
		a := s.a
		add := func(b int64) {
			if b > a {
				if sum += b - a; b-a >= stretchLeast {
					long = append(long, stretch{a, b})
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
	return long, sum
}

func (k *kernel) spread(x *onThread, list []stretch, all []threadWindow, i int, ns int64) (off offCPU) {
	sum := int64(0)
	for _, s := range list {
		sum += s.b - s.a
	}
	if off = k.take(all, i, min(ns, sum)); off == (offCPU{}) {
		return off
	}
	quota, others := float64(off.quota)/float64(sum), float64(off.others)/float64(sum)
	for _, s := range list {
		x.off = append(x.off, offStretch{s, quota, others})
	}
	return off
}

func (k *kernel) take(all []threadWindow, i int, ns int64) (off offCPU) {
	for j := i; j < len(all) && j < i+farthest && ns > 0; j++ {
		w := &all[j]
		if j > i && k.at[j-1]-w.waited >= k.at[i] {
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

// now is the end of a stretch that goes on.
func (x *onThread) within(w stretch, now int64) (runs, calls []stretch) {
	add := func(s threadStretch) {
		a, b := max(s.a, w.a), min(s.b, w.b)
		switch {
		case a >= b:
		case s.call:
			calls = append(calls, stretch{a, b})
		default:
			runs = append(runs, stretch{a, b})
		}
	}
	x.stretches = slices.DeleteFunc(x.stretches, func(s threadStretch) bool {
		add(s)
		return s.b <= w.b
	})
	if x.since != 0 {
		add(threadStretch{stretch{x.since, now}, x.call})
	}
	return runs, calls
}

func (k *kernel) off(thread int32, a, b int64) (off offCPU) {
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

func (k *kernel) offIn(g *goroutine, a, b int64) (ns int64) {
	for i := max(g.at(a), 0); i < len(g.segments); i++ {
		s, end := g.segment(i, b)
		if s.start >= b {
			break
		}
		off := k.off(s.thread, max(s.start, a), end)
		ns += off.quota + off.others
	}
	return ns + k.clock.stalled(a, b)
}

// longer than a goroutine's way to an idle processor
const wakeLeast = time.Millisecond

// waited moves parts of a wait from a to b to throttled and descheduled. Behind busy processors,
// that is the share for which these were off their CPUs. For an idle processor or the collector, it
// is how long threads waited to be woken.
func (k *kernel) waited(p, before *Parts, a, b int64) {
	if len(k.queue) == 0 || a >= b {
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
