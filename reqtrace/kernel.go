package reqtrace

import (
	"math"
	"slices"
	"sort"
	"time"

	"golang.org/x/exp/trace"
)

// CPU is what the kernel counted for the traced process during the trace.
type CPU struct {
	Grouped bool    // the process's control groups were found, so the quota is known
	Quota   float64 // CPUs that the quota allows; 0: no quota
	Moments []CPUMoment
}

// CPUMoment is what the kernel has counted until a time.
type CPUMoment struct {
	At        time.Time
	Periods   int64
	Throttled int64
	Waited    time.Duration // because of the quota, summed over CPUs
	Threads   []ThreadTime
}

// ThreadTime is how long a thread ran and waited for a CPU. Waited includes the quota's waits.
type ThreadTime struct {
	ID          int64
	Ran, Waited time.Duration
}

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
//   - A thread is descheduled for at most the time that the kernel counted it waiting.
//   - Time in a silence is the quota's or the machine's, and not descheduled as well.
//
// A nil *kernel is valid and has no counts.
type kernel struct {
	clock   *clock
	cpu     *CPU
	report  Quota
	at      []int64
	waits   map[int64][]threadWindow
	sums    []int64
	next    int // first moment with silences to look at
	left    int // first moment with threads to look at
	silent  []silence
	threads map[int64]*onThread
	queue   []queued
	lost    int64
	until   int64 // earlier times are settled
}

const (
	silenceLeast  = int64(time.Millisecond)       // the shortest that the quota can cause
	silenceSlack  = int64(time.Millisecond)       // between a silence's end and the moment
	longestQuiet  = int64(200 * time.Millisecond) // of a window whose silence the quota may explain
	longestWindow = int64(time.Second)            // of a window whose thread counts are used
	stretchLeast  = int64(time.Millisecond)       // the shortest that is looked at
	farthest      = 100                           // windows that a wait may reach back
)

type silence struct {
	a, b  int64
	taken bool
}

type stretch struct{ a, b int64 }

func newKernel(cpu *CPU, c *clock) *kernel {
	if cpu == nil || len(cpu.Moments) < 2 {
		return nil
	}
	k := &kernel{
		clock: c, cpu: cpu, waits: map[int64][]threadWindow{}, sums: make([]int64, len(cpu.Moments)),
		threads: map[int64]*onThread{}, next: 1, left: 1,
	}
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

func (k *kernel) during(a, b int64) (first, last int) {
	last = len(k.cpu.Moments) - 1
	if k.at == nil {
		return 0, last
	}
	first = max(sort.Search(last, func(i int) bool { return k.at[i] > a })-1, 0)
	return first, sort.Search(last, func(i int) bool { return k.at[i] >= b })
}

func (k *kernel) counted(first, last int) {
	a, b, q := &k.cpu.Moments[first], &k.cpu.Moments[last], &k.report
	q.CPUs, q.Periods, q.Throttled, q.Time = k.cpu.Quota, int(b.Periods-a.Periods), int(b.Throttled-a.Throttled),
		b.Waited-a.Waited
}

// delay returns how long all threads waited for a CPU between two moments, without the quota's
// waits and those that are descheduled.
func (k *kernel) delay(first, last int) time.Duration {
	sum := -k.lost
	for i := first + 1; i <= last; i++ {
		sum += k.sums[i]
	}
	return max(dur(sum)-k.report.Time, 0)
}

// sync relates the clocks by the trace's first snapshot.
func (k *kernel) sync(s *trace.ClockSnapshot) {
	if k == nil || k.at != nil {
		return
	}
	k.at = make([]int64, len(k.cpu.Moments))
	for i := range k.at {
		k.at[i] = int64(s.Trace) + int64(k.cpu.Moments[i].At.Sub(s.Wall))
	}
}

// window returns the time before a moment, and whether it is short enough.
func (k *kernel) window(i int) (w stretch, ok bool) {
	w = stretch{k.at[i-1], k.at[i]}
	return w, w.b-w.a <= longestWindow
}

// passes records that no event happened from a to b. It reports whether windows were settled.
func (k *kernel) passes(m *model, a, b int64) bool {
	if k == nil || k.next >= len(k.at) { // also before sync, when at is empty
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

// settle looks at the windows that have ended by t.
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

// settled returns the time until which no more will be learned.
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

func (k *kernel) prune(horizon int64) {
	if k == nil {
		return
	}
	for _, x := range k.threads {
		x.off = dropUntil(x.off, func(s *offStretch) bool { return s.b > horizon })
	}
	k.queue = dropUntil(k.queue, func(q *queued) bool { return q.b > horizon })
}

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
