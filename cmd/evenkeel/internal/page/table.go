package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

type pageCell struct {
	Value string
	Range string // of the repeats, "" if they agree
	Ratio string

	Bounds  string
	Verdict string
}

func newPageCell(row *compare.Row, column int) pageCell {
	cell := row.Cells[column]
	var p pageCell
	if !cell.Known {
		return p
	}
	p.Value = row.Format(cell.Median)
	p.Range = rangeText(row.Format(cell.Min), row.Format(cell.Max))
	r := row.Results[column]
	p.Ratio, p.Bounds = compare.Ratio(r), compare.Bounds(r)
	if v := row.Shown(column); v != tailstat.VerdictInconclusive {
		p.Verdict = v.String()
	}
	return p
}

// rangeText writes a common unit once.
func rangeText(lo, hi string) string {
	if lo == hi {
		return ""
	}
	if number, unit, _ := strings.Cut(lo, " "); unit != "" && strings.HasSuffix(hi, " "+unit) {
		lo = number
	}
	return lo + "–" + hi
}

const maxStates = 24 // others share an entry of the legend

// A collection under gcgate has these states. page.css has e0 to e4 for them, and o0 to o7 for
// others.
var knownStates = []string{"wanting", "announcing", "draining", "collecting", "readying"}

const otherColors = 8

type pageState struct {
	Name  string `json:"name"`
	Class string `json:"class"`
}

type states struct {
	legend []pageState
	by     map[string]int
}

func newStates(lanes [][]compare.Lane) *states {
	st := &states{by: map[string]int{}}
	seen := map[string]bool{}
	for _, ls := range lanes {
		for _, l := range ls {
			for _, s := range l.Spans {
				seen[s.State] = true
			}
		}
	}
	add := func(name, class string) {
		st.by[name] = len(st.legend)
		st.legend = append(st.legend, pageState{Name: name, Class: class})
	}
	for i, name := range knownStates {
		if seen[name] {
			add(name, fmt.Sprintf("e%d", i))
			delete(seen, name)
		}
	}
	others := slices.Sorted(maps.Keys(seen))
	for i, name := range others {
		if len(st.legend) == maxStates {
			st.legend = append(st.legend, pageState{
				Name:  fmt.Sprintf("one of %d others", len(others)-i),
				Class: "o" + strconv.Itoa(otherColors-1),
			})
			break
		}
		add(name, "o"+strconv.Itoa(i%otherColors))
	}
	return st
}

func (st *states) index(state string) int {
	if i, ok := st.by[state]; ok {
		return i
	}
	return len(st.legend) - 1
}

const maxTargets = 20

// pageSetup has what all variants share once.
type pageSetup struct {
	Shared   []fact
	Variants []variantFacts
}

type variantFacts struct {
	pageVariant
	Facts []fact
}

type fact struct {
	Name   string
	Values []string
	Code   bool
}

func setupOf(c *compare.Comparison) pageSetup {
	all := make([][]fact, len(c.Columns))
	for i := range c.Columns {
		all[i] = facts(&c.Columns[i])
	}
	shared := func(f fact) bool {
		for _, fs := range all {
			if !slices.ContainsFunc(fs, func(g fact) bool {
				return g.Name == f.Name && slices.Equal(g.Values, f.Values)
			}) {
				return false
			}
		}
		return true
	}
	var s pageSetup
	for _, f := range all[0] {
		if shared(f) {
			s.Shared = append(s.Shared, f)
		}
	}
	for i, v := range pageVariants(c) {
		own := slices.DeleteFunc(slices.Clone(all[i]), shared)
		if len(own) > 0 {
			s.Variants = append(s.Variants, variantFacts{v, own})
		}
	}
	return s
}

func facts(col *compare.Column) []fact {
	r := col.Runs[0]
	l := r.Load
	fs := []fact{{Name: "load", Values: []string{compare.LoadLine(l)}}}
	add := func(name string, code bool, values ...string) {
		if len(values) > 0 && values[0] != "" {
			fs = append(fs, fact{name, values, code})
		}
	}
	add("targets", true, compare.Targets(l, maxTargets)...)
	add("command", true, commandText(r.Command))
	add("environment", true, r.Env...)
	add("requests", false, compare.MixText(r.Mix))
	if r.Alloc != nil {
		add("allocation by", false, r.Alloc.Source)
	}
	add("service", false, compare.ObservedText(r))
	var measured []string
	for _, r := range col.Runs {
		measured = append(measured, measuredText(r))
	}
	add("measured", false, measured...)
	return fs
}

func measuredText(r *runfile.Run) string {
	t := fmt.Sprintf("%s requests in %s", textfmt.Count(float64(r.Load.Requests())), textfmt.Duration(r.Load.Duration))
	if !r.Load.Started.IsZero() {
		t += ", started " + r.Load.Started.UTC().Format(time.DateTime) + " UTC"
	}
	if r.Load.Interrupted {
		t += ", interrupted"
	}
	return t
}

func commandText(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?\\") {
			quoted[i] = strconv.Quote(a)
		}
	}
	return strings.Join(quoted, " ")
}
