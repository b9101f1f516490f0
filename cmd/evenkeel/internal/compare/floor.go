package compare

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// measureFloor finds the smallest change that this many rounds show on this machine. One variant
// was measured twice in each round, so all differences are noise.
func (c *Comparison) measureFloor(figures []Figure) {
	for i := range c.Rows {
		c.Rows[i].floor = nil
	}
	if len(c.floors) != 1 || c.floors[0] == nil {
		return
	}
	pointers := func(runs []runfile.Run) (list []*runfile.Run) {
		for i := range runs {
			list = append(list, &runs[i])
		}
		return list
	}
	first, second := statRuns(pointers(c.floors[0].First), figures), statRuns(pointers(c.floors[0].Second), figures)
	first, second = sides(first, second, true)
	if len(first) < 2 || len(second) < 2 {
		return
	}
	var known []tailstat.Figure
	for _, f := range figures {
		if haveAll(f.Name, first) && haveAll(f.Name, second) {
			known = append(known, tailstat.Value(f.Name, f.More()))
		}
	}
	if len(known) == 0 {
		return
	}
	level := 1 - (1-confidence)/float64(len(known))
	for _, a := range c.against {
		if a != nil {
			level = a.Level
		}
	}
	r, err := tailstat.Compare(first, second, tailstat.Options{
		Figures:    known,
		Confidence: max(1-(1-level)*float64(len(known)), .5),
	})
	if err != nil {
		c.note("floor: " + err.Error())
		return
	}
	var differ []string
	for i := range r.Result {
		x := &r.Result[i]
		if row := c.Row(x.Figure); row != nil {
			row.floor, row.floorRounds = x, c.rounds(r.Base)
			row.floorLeast, _ = x.DetectableWith(row.floorRounds)
		}
		if x.Verdict != tailstat.VerdictInconclusive {
			differ = append(differ, fmt.Sprintf("%s %s %s", x.Figure, Ratio(x), Bounds(x)))
		}
	}
	if len(differ) > 0 {
		c.note("one variant measured against itself differs on this machine: " + strings.Join(differ, ", "))
	}
}

// rounds returns in how many rounds variants were compared, or otherwise if none were.
func (c *Comparison) rounds(otherwise int) int {
	n := 0
	for _, a := range c.against {
		if a != nil && (n == 0 || min(a.Base, a.Head) < n) {
			n = min(a.Base, a.Head)
		}
	}
	if n == 0 {
		return otherwise
	}
	return n
}

// HasFloor reports whether a floor was measured.
func (c *Comparison) HasFloor() bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.floor != nil })
}

// Floor returns the smallest ratio above 1 that the compared rounds show on this machine.
func (r *Row) Floor() (ratio float64, ok bool) {
	return r.floorLeast, r.floor != nil && r.floorLeast > 0
}

// FloorWith returns the same for another number of rounds.
func (r *Row) FloorWith(rounds int) (ratio float64, ok bool) {
	if r.floor == nil {
		return 0, false
	}
	return r.floor.DetectableWith(rounds)
}

// FloorNeeded returns how many rounds show a ratio on this machine.
func (r *Row) FloorNeeded(ratio float64) (rounds int, ok bool) {
	if r.floor == nil {
		return 0, false
	}
	return r.floor.Needed(ratio)
}

// FloorText returns the floor for people, such as "+12%", or "none" if so few rounds show nothing.
// It is "" if no floor was measured.
func (r *Row) FloorText() string {
	if r.floor == nil {
		return ""
	}
	if x, ok := r.Floor(); ok {
		return Change(x)
	}
	return "none"
}

// Shown returns the verdict that colours a column's figure. A change below the floor has no colour.
func (r *Row) Shown(column int) tailstat.Verdict {
	x := r.results[column]
	if x == nil {
		return tailstat.VerdictInconclusive
	}
	if r.floor != nil {
		if least, ok := r.Floor(); !ok || max(x.Ratio, 1/x.Ratio) < least {
			return tailstat.VerdictInconclusive
		}
	}
	return x.Verdict
}

// Spoilt says what disturbed a run, or "". Such a run stays in all figures, because leaving out
// runs by what they measured would choose the result.
func Spoilt(r *runfile.Run) string {
	var list []string
	if n := r.Load.FailedBy(loadgen.ClassGenerator); n > 0 {
		list = append(list, textfmt.Count(float64(n))+" requests failed by the load generator's own limit")
	}
	if d := r.Disturbance; d != nil {
		if x, ok := d.ByOthers(); ok {
			list = append(list, fmt.Sprintf("%.0f%% of the processors' time went to other programs", x))
		}
		if x, ok := d.Stolen(); ok {
			list = append(list, fmt.Sprintf("%.0f%% was taken by the hypervisor", x))
		}
	}
	// If all connections were busy, the service made requests late. The pacer's own lateness is the
	// load generator's.
	if r.Load.Pacer.Count() > 0 {
		if late := r.Load.Pacer.Quantile(.99); late > loadgen.LateAfter {
			list = append(list, fmt.Sprintf(
				"the load generator itself was late with 1%% of the requests, by %s and more",
				textfmt.Duration(late)))
		}
	}
	return strings.Join(list, ", ")
}
