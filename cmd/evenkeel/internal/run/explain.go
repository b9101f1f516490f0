package run

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

const explainRounds = 3 // last rounds

func (r *Runner) traced(round int) bool {
	rounds := 1
	if len(r.variants) > 1 {
		rounds = explainRounds
	}
	return r.flags.explain && round > r.flags.repeat-rounds
}

func (r *Runner) traceFile(label string, round int) string {
	if r.flags.traces == "" {
		return ""
	}
	name := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.", c) {
			return c
		}
		return '_'
	}, label)
	return filepath.Join(r.flags.traces, fmt.Sprintf("%s-%d.trace", strings.TrimLeft(name, "."), round))
}

func (r *Runner) changes() (list []*verdict.Change, err error) {
	reports := map[string][]*reqtrace.Report{}
	for _, x := range r.explanations {
		if rep := x.verdict.Report(); rep.Requests > 0 {
			reports[x.label] = append(reports[x.label], rep)
		}
	}
	base := cmp.Or(r.flags.judging.Base, r.variants[0].label)
	for _, v := range r.variants {
		if v.label == base || len(reports[base]) == 0 || len(reports[v.label]) == 0 {
			continue
		}
		c, compareErr := verdict.Compare(reports[base], reports[v.label], base, v.label)
		if compareErr != nil {
			err = errors.Join(err, compareErr)
			continue
		}
		list = append(list, c)
	}
	return list, err
}

func (r *Runner) lastExplanations() (list []explained) {
	for i, x := range r.explanations {
		if !slices.ContainsFunc(r.explanations[i+1:], func(y explained) bool { return y.label == x.label }) {
			list = append(list, x)
		}
	}
	return list
}

func (r *Runner) printExplanations(changes []*verdict.Change) error {
	o := verdict.Options{Color: r.app.Style.Color, Width: r.app.Width}
	for _, c := range changes {
		fmt.Fprintf(r.app.Stdout, "\nwhat differs: %s against %s\n", c.New.Name, c.Old.Name)
		if err := c.WriteText(r.app.Stdout, o); err != nil {
			return err
		}
	}
	for _, x := range r.lastExplanations() {
		heading := "why requests were slow"
		if len(r.variants) > 1 {
			heading += ": " + x.label
		}
		fmt.Fprintf(r.app.Stdout, "\n%s\n", heading)
		if err := x.verdict.WriteText(r.app.Stdout, o); err != nil {
			return err
		}
	}
	return nil
}
