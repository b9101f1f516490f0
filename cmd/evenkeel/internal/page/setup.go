package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

const maxTargets = 20 // of one variant

// pageSetup is how the variants were measured. What is the same for all is there once.
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
	Code   bool // set as code
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

// facts describes a column by its first run.
func facts(col *compare.Column) []fact {
	r := col.Runs[0]
	l := r.Load
	load := compare.LoadText(l)
	if l.Rate > 0 && l.Connections > 0 {
		load += fmt.Sprintf(", at most %d connections", l.Connections)
	}
	fs := []fact{{Name: "load", Values: []string{load}}}
	add := func(name string, code bool, values ...string) {
		if len(values) > 0 && values[0] != "" {
			fs = append(fs, fact{name, values, code})
		}
	}
	targets := l.Targets[:min(len(l.Targets), maxTargets)]
	if more := len(l.Targets) - len(targets) + l.MoreTargets; more > 0 {
		targets = append(slices.Clone(targets), fmt.Sprintf("and %d more", more))
	}
	add("targets", true, targets...)
	if l.Timeout > 0 {
		add("timeout", false, textfmt.Duration(l.Timeout))
	}
	if l.Warmup > 0 {
		add("warm-up", false, textfmt.Duration(l.Warmup))
	}
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

// commandText shows where each argument ends.
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
