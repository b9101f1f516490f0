package main

import (
	"fmt"
	"reflect"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/tailstat"
)

// coverage is how often the intervals of a figure held the truth.
type coverage struct {
	Service string  `json:"service"`
	Figure  string  `json:"figure"`
	Paired  bool    `json:"paired"`
	Trials  int     `json:"trials"`
	Truth   float64 `json:"truth"`
	Held    int     `json:"held"`  // of the trials
	Share   float64 `json:"share"` // the same in percent
	Found   int     `json:"found"` // the difference
}

// looks are trials of a comparison that was made anew after each round.
type looks struct {
	Service string  `json:"service"`
	Planted bool    `json:"planted"` // compared with another service, else with itself
	Trials  int     `json:"trials"`
	Found   int     `json:"found"`
	Share   float64 `json:"share"`  // the same in percent
	Rounds  float64 `json:"rounds"` // on average, until it was found or given up
}

// alarm is how often a method finds a difference between a service and itself.
type alarm struct {
	Subject   string  `json:"subject"`
	Neighbour bool    `json:"neighbour"`
	Method    string  `json:"method"`
	Figure    string  `json:"figure"`
	Trials    int     `json:"trials"`
	Found     int     `json:"found"`
	Share     float64 `json:"share"` // the same in percent
}

// powered is how often a change is found that was planted.
type powered struct {
	Subject string  `json:"subject"`
	Slower  float64 `json:"slower"` // how many times as long latencies beyond the p90 were made
	Rounds  int     `json:"rounds"`
	Trials  int     `json:"trials"`
	Found   int     `json:"found"`
	Share   float64 `json:"share"` // the same in percent
	Wrong   int     `json:"wrong"` // found to be shorter
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// plantedRuns are those of a subject with its plant, which is in the program itself.
type plantedRuns struct {
	Ratio  float64           `json:"ratio"` // of p99, by all rounds
	Within tailstat.Interval `json:"within"`
	Rounds int               `json:"rounds"`
	Trials int               `json:"trials"` // draws of ten of them
	Found  int               `json:"found"`
}

// measured is what the parts find; a part that was not run leaves its own nil.
type measured struct {
	Coverage   []coverage
	Sequential []looks
	Alarms     []alarm
	Worst      []alarm // of each method with each subject, the figure that it finds most often
	Power      []powered
	Planted    *plantedRuns
}

// fields are the raw results by their keys.
func (m *measured) fields() map[string]any {
	return map[string]any{"coverage": &m.Coverage, "sequential": &m.Sequential, "alarms": &m.Alarms, "worst": &m.Worst, "power": &m.Power, "planted": &m.Planted}
}

// keep puts what was found into a set's raw results.
func (m *measured) keep(s *figure.Set) {
	for key, v := range m.fields() {
		if !reflect.ValueOf(v).Elem().IsZero() {
			s.Raw[key] = v
		}
	}
}

// read reads what a file has.
func (m *measured) read(r figure.Recorded) error {
	for key, v := range m.fields() {
		if _, err := r.Read(key, v); err != nil {
			return err
		}
	}
	return nil
}

// again reads raw results and adds their figures.
func (m *measured) again(s *figure.Set, r figure.Recorded) error {
	if err := m.read(r); err != nil {
		return err
	}
	m.judge(s)
	return nil
}

// Ways to use tailstat. The last one's target would be the machine's, not the method's.
const (
	byRounds = "tailstat, by rounds"
	allToAll = "tailstat, all with all"
	inBlocks = "tailstat, base before head"
)

// judge adds the figures of the parts.
func (m *measured) judge(s *figure.Set) {
	for _, paired := range []bool{true, false} {
		var least, most *coverage
		for i := range m.Coverage {
			c := &m.Coverage[i]
			if c.Paired != paired {
				continue
			}
			if least == nil || c.Held < least.Held {
				least = c
			}
			if most == nil || c.Held > most.Held {
				most = c
			}
		}
		how := map[bool]string{true: "by rounds", false: "without rounds"}[paired]
		if least != nil {
			s.Share(fmt.Sprintf("intervals %s hold the truth, least: %s %s", how, least.Service, least.Figure), least.Held, least.Trials, 93, 97)
			s.Share(fmt.Sprintf("intervals %s hold the truth, most: %s %s", how, most.Service, most.Figure), most.Held, most.Trials, 93, 97)
		}
	}
	wrong, trials := 0, 0
	for _, l := range m.Sequential {
		if !l.Planted {
			wrong, trials = wrong+l.Found, trials+l.Trials
			s.Share(l.Service+": a look finds a difference to itself", l.Found, l.Trials, 0, 5)
		}
	}
	if trials > 0 {
		s.Share("the same, all of them", wrong, trials, 0, 5)
	}
	for _, method := range []string{byRounds, allToAll} {
		if worst := m.worst(method); worst != nil {
			s.Share(fmt.Sprintf("%s: a service differs from itself, worst: %s%s, %s", method, worst.Subject, beside(worst.Neighbour), worst.Figure), worst.Found, worst.Trials, 0, 6)
		}
	}
	for _, p := range m.Power {
		name := fmt.Sprintf("%s: p99 longer by %.0f%% found in %d rounds", p.Subject, 100*(p.Slower-1), p.Rounds)
		if p.Subject == "hello" { // no target: its noise is what it is
			low, high := figure.Wilson(p.Found, p.Trials)
			fmt.Fprintf(s.Out, "%-58s %.1f%% [%.1f..%.1f]\n", name, p.Share, low, high)
		} else {
			s.Share(name, p.Found, p.Trials, 80, 100)
		}
		s.Share(p.Subject+": found to be shorter", p.Wrong, p.Trials, 0, 2.5)
	}
	if p := m.Planted; p != nil {
		s.Share(fmt.Sprintf("msgpush with a longer window, p99 %.2fx: found in %d rounds", p.Ratio, rounds), p.Found, p.Trials, 80, 100)
	}
}

// worst returns the figure, of all services, that a method finds most often.
func (m *measured) worst(method string) (w *alarm) {
	for i := range m.Worst {
		if a := &m.Worst[i]; a.Method == method && (w == nil || a.Share > w.Share) {
			w = a
		}
	}
	return w
}

func beside(neighbour bool) string {
	if neighbour {
		return " beside a neighbour"
	}
	return ""
}
