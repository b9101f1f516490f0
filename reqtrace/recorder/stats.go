package recorder

import (
	"fmt"
	"maps"
	"time"

	"evenkeel.dev/internal/textfmt"
)

// Stats says what a recorder has done and what it took. It is up to a second old.
type Stats struct {
	Since     time.Time     `json:"since"`
	On        bool          `json:"on"`
	Why       string        `json:"why,omitempty"`          // why it is off, or what cannot be kept
	Threshold time.Duration `json:"threshold_ns,omitempty"` // of slow requests; 0: not known yet
	Window    time.Duration `json:"window_ns"`
	Bytes     int           `json:"window_bytes"`

	// How long the recorder runs, was on, and was off to stay within Options.CPU.
	Passed  time.Duration `json:"passed_ns"`
	Covered time.Duration `json:"covered_ns"`
	Off     time.Duration `json:"off_ns,omitempty"`

	Requests  uint64 `json:"requests"` // that the service's own clock saw
	Slow      uint64 `json:"slow"`
	Kept      uint64 `json:"kept"` // in snapshots that are not analysed
	Snapshots uint64 `json:"snapshots"`
	Analyzed  uint64 `json:"analyzed"` // by Options.InProcess

	// Snapshots that are lost, by reason.
	Failures    map[string]uint64 `json:"failures,omitempty"`
	LastFailure string            `json:"last_failure,omitempty"`

	// CPU time of the process. It includes Cost.
	CPU  time.Duration `json:"cpu_ns"`
	Cost Cost          `json:"cost"`
}

// Cost is CPU time. Tracing is an estimate until the recorder has compared what requests take with
// and without tracing, a dozen times.
type Cost struct {
	Tracing time.Duration `json:"tracing_ns"`
	// ± of Tracing at 95% confidence; 0: not known
	Within    time.Duration `json:"tracing_within_ns,omitempty"`
	Snapshots time.Duration `json:"snapshots_ns"`
	Analysis  time.Duration `json:"analysis_ns"`
	Budget    time.Duration `json:"budget_ns"`
}

func (c Cost) total() time.Duration { return c.Tracing + c.Snapshots + c.Analysis }

func (s *Stats) coverage() float64 { return float64(s.Covered) / float64(max(s.Passed, 1)) }

func (s *Stats) fail(why failure, err error) {
	if s.Failures == nil {
		s.Failures = map[string]uint64{}
	}
	s.Failures[string(why)]++
	s.LastFailure = string(why) + ": " + err.Error()
}

func (s *Stats) lines() []string {
	state := "recording"
	if !s.On {
		state = "not recording now"
	}
	if s.Why != "" {
		state += " (" + s.Why + ")"
	}
	threshold := "not known yet: too few requests"
	if s.Threshold > 0 {
		threshold = "from " + textfmt.Duration(s.Threshold) + " on"
	}
	tracing := textfmt.Duration(s.Cost.Tracing)
	if s.Cost.Within > 0 {
		tracing += " ± " + textfmt.Duration(s.Cost.Within)
	} else {
		tracing += ", estimated"
	}
	list := []string{
		state + ", for " + textfmt.Share(s.coverage()) + " of the time since " + s.Since.UTC().Format(time.RFC3339) +
			"; slow: " + threshold,
		"the recorder took " + textfmt.Duration(s.Cost.total()) + " of CPU time (tracing " + tracing + ", snapshots " +
			textfmt.Duration(s.Cost.Snapshots) + ", analysis " +
			textfmt.Duration(s.Cost.Analysis) + ") of the " + textfmt.Duration(s.Cost.Budget) +
			" that Options.CPU allows",
	}
	if s.On && s.Off > s.Passed/100 {
		off := textfmt.Share(float64(s.Off) / float64(s.Passed))
		list = append(list, "off for "+off+
			" of the time to stay within its CPU budget; raise recorder.Options.CPU to see more")
	}
	if s.LastFailure != "" {
		list = append(list, "the last snapshot that was lost: "+s.LastFailure)
	}
	return list
}

// Stats returns what the recorder has done.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Failures = maps.Clone(s.Failures)
	s.Requests, s.Slow = r.requests.Load(), r.slow.Load()
	if d, ok := r.slowFrom(); ok {
		s.Threshold = d
	}
	return s
}

func (r *Recorder) update(f func(*Stats)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.stats)
}

func (l *loop) publish(now time.Time) {
	why := ""
	switch err := l.r.store.Err(); {
	case l.broken:
		why = "a defect of the recorder's, see the log"
	case l.refused != nil:
		why = l.refused.Error()
	case !l.on:
		why = l.whyOff(now)
	case err != nil:
		why = "the history is only in memory: " + err.Error()
	}
	l.r.update(func(s *Stats) {
		s.On, s.Why, s.Window, s.Bytes = l.on, why, l.slice.window, l.slice.bytes
		s.Passed, s.Covered, s.Off, s.CPU = now.Sub(s.Since), l.sum.covered, l.sum.lacked, l.account.most
		s.Cost = l.account.cost
		s.Cost.Budget = l.account.earned
		if _, within, known := l.account.pairs.ratio(); known {
			s.Cost.Within = time.Duration(within * float64(s.Cost.Tracing))
		}
	})
}

func (l *loop) whyOff(now time.Time) string {
	_, known := l.r.slowFrom()
	switch {
	case l.poor:
		return fmt.Sprintf("its CPU budget lets it record for %s of the time; raise recorder.Options.CPU (%v) to "+
			"see more",
			textfmt.Share(l.coverage(now)), l.r.o.CPU)
	case !known:
		return "too few requests so far to tell which are slow"
	}
	return "there are no requests"
}
