package reqtrace

import (
	"math"
	"slices"
	"time"
)

// Quota is what a CPU quota did to the traced process.
type Quota struct {
	CPUs      float64       `json:"cpus"` // 0: no quota
	Periods   int           `json:"periods,omitempty"`
	Throttled int           `json:"throttled,omitempty"`
	Time      time.Duration `json:"time_ns,omitempty"` // summed over CPUs
	Silences  int           `json:"silences,omitempty"`
}

// throttle assigns the quota's time until a moment to the longest silence that ends in the window
// and fits. The time is summed over CPUs, so it may be longer or shorter than the silence.
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

func (m *model) throttled(a, b int64) {
	q := &m.kernel.report
	q.Silences++
	span := m.span(a, b)
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

// quotas returns which share of the threads' waits around a moment may be the quota's. kernel.go gives
// it to requests.
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

const (
	quotaPeriod = 100 * time.Millisecond
	gridLeast   = 6
	gridSure    = 6 // e^-gridSure is chance
	gridClose   = .8
)

// grid is Rayleigh's test of the stalls' phases.
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
