package reqtrace

import (
	"math"
	"slices"
	"sort"
	"time"
)

// Quota is what a CPU quota did to the traced process.
type Quota struct {
	CPUs      float64       `json:"cpus"` // 0: no quota
	Periods   int           `json:"periods,omitempty"`
	Throttled int           `json:"throttled,omitempty"`
	Time      time.Duration `json:"time_ns,omitempty"` // how long it was used up, summed over CPUs
	Silences  int           `json:"silences,omitempty"`
	Silent    time.Duration `json:"silent_ns,omitempty"`
	Spans     []Span        `json:"spans,omitempty"`
}

// throttle assigns the quota's time until a moment to the longest silence that ends in the window
// and fits. The time is summed over CPUs, so it may exceed the silence, or be shorter if CPUs had
// no work.
func (k *kernel) throttle(m *model, i int) {
	d := int64(k.cpu.Moments[i].Waited - k.cpu.Moments[i-1].Waited)
	w, ok := k.window(i)
	if d <= 0 || !ok || w.b-w.a > longestQuiet {
		return
	}
	var longest *silence
	for j := range k.silent {
		s := &k.silent[j]
		long := s.b - s.a
		switch {
		case s.taken, s.b < w.a-silenceSlack, s.b > w.b+silenceSlack:
		case 5*long < d, 2*long > 3*d:
		case longest == nil || long > longest.b-longest.a:
			longest = s
		}
	}
	if longest == nil {
		return
	}
	longest.taken = true
	m.throttled(longest.a, longest.b)
}

// throttled records that the quota was used up from a to b.
func (m *model) throttled(a, b int64) {
	q := &m.kernel.report
	q.Silences++
	q.Silent += dur(b - a)
	span := m.span(a, b)
	if len(q.Spans) < maxStalls {
		q.Spans = append(q.Spans, span)
	}
	c := &m.clock
	at, found := slices.BinarySearchFunc(c.stalls, a, func(s stall, a int64) int { return int(min(max(s.a-a, -1), 1)) })
	if !found {
		c.stalls = slices.Insert(c.stalls, at, c.drains(stall{a: a, b: b, cause: CauseThrottled}, at))
		return
	}
	c.stalls[at].cause = CauseThrottled
	r := &m.machine
	r.Stalls--
	r.Time -= dur(b - a)
	r.Spans = slices.DeleteFunc(r.Spans, func(s Span) bool { return s == span })
	r.Longest = 0
	for _, s := range r.Spans {
		r.Longest = max(r.Longest, s.End-s.Start)
	}
}

// drains fills in when a processor was idle again after a stall, which is inserted at an index.
func (c *clock) drains(s stall, at int) stall {
	s.drained, s.open = s.b, at == len(c.stalls)
	for i := sort.Search(len(c.steps), func(i int) bool { return c.steps[i].start >= s.b }); i < len(c.steps); i++ {
		if c.steps[i].now.idle {
			s.drained, s.open = c.steps[i].start, false
			break
		}
	}
	if at < len(c.stalls) {
		s.drained = min(s.drained, c.stalls[at].a)
	}
	return s
}

const (
	quotaPeriod = 100 * time.Millisecond
	gridLeast   = 6
	gridSure    = 6 // e^-gridSure is the chance that stalls without a grid end as close together
	gridClose   = .8
)

// grid returns how many stalls there are if they ended on a grid of quotaPeriod, else 0. It is
// Rayleigh's test of their phases.
func grid(stalls []Span) int {
	var x, y float64
	for _, s := range stalls {
		sin, cos := math.Sincos(2 * math.Pi * float64(s.End%quotaPeriod) / float64(quotaPeriod))
		x, y = x+cos, y+sin
	}
	n := float64(len(stalls))
	if r := math.Hypot(x, y) / n; len(stalls) < gridLeast || r < gridClose || n*r*r < gridSure {
		return 0
	}
	return len(stalls)
}
