package reqtrace

import (
	"math"
	"slices"
	"sort"
	"time"

	"golang.org/x/exp/trace"
)

// CPU is what the kernel counted of the traced process while the trace was taken.
type CPU struct {
	Grouped bool    // its control groups were found, so the quota is known
	Quota   float64 // in CPUs, the least that they allow; 0: none
	Moments []CPUMoment
}

// CPUMoment is what the kernel had counted at a time. Moments are in order of time, best 10 ms apart; counts only grow.
type CPUMoment struct {
	At        time.Time
	Periods   int64         // of the quota
	Throttled int64         // periods in which the quota was used up
	Waited    time.Duration // for the quota, summed over CPUs
	Threads   []ThreadTime  // those whose times have changed
}

// ThreadTime is how long a thread has run, and how long it has waited for a CPU, the quota's waits among it.
type ThreadTime struct {
	ID          int64
	Ran, Waited time.Duration
}

// kernel ties what the kernel counted to the trace: moments, some 10 ms apart, divide its time into windows.
//
//	moments     ├───────── window ─────────┤───────── window ─────────┤
//	the quota                 Waited + d ──^ takes the longest silence of all processors that ends here
//	a thread    │ runs, by the trace │      │ runs       │
//	            Ran + c, Waited + g ───────^ of running, what exceeds c and is within g, it was descheduled
//
// A wait is counted when it ends, so what is known of a time comes up to a window later. Requests are taken apart after that
// (turns.pending).
//
// Invariants:
//   - Each growth of Waited takes one silence at most, and each silence is taken once.
//   - A thread is descheduled for no longer than it waited by the kernel's count, and than it ran by the trace.
//   - What a silence takes out of a thread's running is the quota's or the machine's, and not descheduled as well.
//
// The nil kernel knows nothing.
type kernel struct {
	clock   *clock
	cpu     *CPU
	report  Quota
	at      []int64 // of the moments, by the trace's clock
	waits   map[int64][]threadWindow
	sums    []int64   // of what threads waited, by window
	next    int       // moment whose silences are to be looked at
	left    int       // moment whose threads are to be looked at
	silent  []silence // not looked at yet
	threads map[int64]*onThread
	queue   []queued // of windows, in order of time
	lost    int64    // ns that are known to have been descheduled
	until   int64    // until when all is known
}

const (
	silenceLeast  = int64(time.Millisecond)       // of a silence that the quota may have made
	silenceSlack  = int64(time.Millisecond)       // between a silence's end and the moment
	longestQuiet  = int64(200 * time.Millisecond) // of a window that says which silence was the quota's
	longestWindow = int64(time.Second)            // of one that says what threads did
	stretchLeast  = int64(time.Millisecond)       // of a thread's running that is looked at
	farthest      = 100                           // windows that a wait may reach back
)

// silence is a time without any event.
type silence struct {
	a, b  int64
	taken bool
}

type stretch struct{ a, b int64 }

func newKernel(cpu *CPU, c *clock) *kernel {
	if cpu == nil || len(cpu.Moments) < 2 {
		return nil
	}
	k := &kernel{clock: c, cpu: cpu, waits: map[int64][]threadWindow{}, sums: make([]int64, len(cpu.Moments)), threads: map[int64]*onThread{}, next: 1, left: 1}
	before := map[int64]ThreadTime{}
	for i := range cpu.Moments {
		for _, t := range cpu.Moments[i].Threads {
			if k.waits[t.ID] == nil {
				k.waits[t.ID] = make([]threadWindow, len(cpu.Moments))
			}
			if p, ok := before[t.ID]; ok && i > 0 {
				w := &k.waits[t.ID][i]
				w.ran, w.waited = int64(t.Ran-p.Ran), int64(t.Waited-p.Waited)
				w.left = w.waited
				k.sums[i] += w.waited
			}
			before[t.ID] = t
		}
	}
	return k
}

// during returns the moments that a time lies between, as far as there are such.
func (k *kernel) during(a, b int64) (first, last int) {
	last = len(k.cpu.Moments) - 1
	if k.at == nil {
		return 0, last
	}
	first = max(sort.Search(last, func(i int) bool { return k.at[i] > a })-1, 0)
	return first, sort.Search(last, func(i int) bool { return k.at[i] >= b })
}

// counted fills in what the kernel counted of a quota between two moments.
func (k *kernel) counted(first, last int) {
	a, b, q := &k.cpu.Moments[first], &k.cpu.Moments[last], &k.report
	q.CPUs, q.Periods, q.Throttled, q.Time = k.cpu.Quota, int(b.Periods-a.Periods), int(b.Throttled-a.Throttled), b.Waited-a.Waited
}

// delay returns how long threads waited for a CPU between two moments, all together, without what the quota made them wait and
// without what is known to be requests' own.
func (k *kernel) delay(first, last int) time.Duration {
	sum := -k.lost
	for i := first + 1; i <= last; i++ {
		sum += k.sums[i]
	}
	return max(dur(sum)-k.report.Time, 0)
}

// sync takes note of what the wall clock was, once in each generation of the trace. The moments' times by the trace's clock
// are those by the first.
func (k *kernel) sync(s *trace.ClockSnapshot) {
	if k == nil || k.at != nil {
		return
	}
	k.at = make([]int64, len(k.cpu.Moments))
	for i := range k.at {
		k.at[i] = int64(s.Trace) + int64(k.cpu.Moments[i].At.Sub(s.Wall))
	}
}

// window returns the time before a moment, and whether it is short enough to say something.
func (k *kernel) window(i int) (w stretch, ok bool) {
	w = stretch{k.at[i-1], k.at[i]}
	return w, w.b-w.a <= longestWindow
}

// passes takes note that nothing happened from a to b, and returns whether more is known now.
func (k *kernel) passes(m *model, a, b int64) bool {
	if k == nil || k.next >= len(k.at) { // or their times are not known
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

// settle looks at all windows that are over at t.
func (k *kernel) settle(m *model, t int64) {
	if k == nil || k.at == nil {
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

// settled returns until when all is known that ever will be.
func (k *kernel) settled() int64 {
	switch {
	case k == nil, k.at == nil:
		return math.MaxInt64
	case k.next < len(k.at):
		if w, ok := k.window(k.next); !ok && k.left == k.next && len(k.silent) == 0 {
			return w.b - silenceSlack
		}
	}
	return k.until
}

// prune forgets what was before horizon.
func (k *kernel) prune(horizon int64) {
	if k == nil {
		return
	}
	for _, x := range k.threads {
		if i := sort.Search(len(x.off), func(i int) bool { return x.off[i].b > horizon }); i > 0 {
			x.off = append(x.off[:0], x.off[i:]...)
		}
	}
	if i := sort.Search(len(k.queue), func(i int) bool { return k.queue[i].b > horizon }); i > 0 {
		k.queue = append(k.queue[:0], k.queue[i:]...)
	}
}

// finish says in a report of a trace from a to b what is known of the kernel.
func (k *kernel) finish(r *Report, a, b int64) {
	if k == nil || !k.cpu.Grouped {
		r.Machine.Grid = grid(r.Machine.Spans)
	}
	if k == nil {
		return
	}
	first, last := k.during(a, b)
	if k.counted(first, last); k.cpu.Grouped {
		r.Quota = &k.report
	}
	r.Machine.RunDelay = k.delay(first, last)
	if k.at != nil {
		r.Machine.Threads = len(k.waits)
	}
}
