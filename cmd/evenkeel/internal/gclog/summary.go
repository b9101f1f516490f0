package gclog

import (
	"fmt"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

func (v *view) end(name string, r *Report, asJSON bool) error {
	v.screen.Erase()
	var stats gctrace.Stats
	if v.ended {
		stats = v.log.stats
		if v.log.err != nil {
			return fmt.Errorf("%s: %w", name, v.log.err)
		}
	}
	switch {
	case r.Total > 0:
	case stats.FivePhases > 0:
		return fmt.Errorf("%s: %s gctrace lines of Go 1.5 have five phases; build the program with a newer Go",
			name, textfmt.Count(float64(stats.FivePhases)))
	case stats.Lost > 0:
		return fmt.Errorf("%s: none of %s gctrace lines is whole; keep standard error unchanged",
			name, textfmt.Count(float64(stats.Lost)))
	default:
		return fmt.Errorf("%s: no gctrace line; start the program with GODEBUG=gctrace=1 and keep its stderr", name)
	}
	counted := int64(0)
	for i := range r.Processes {
		counted += r.Processes[i].Summary.Collections
	}
	if counted == 0 {
		return fmt.Errorf("%s: no collection of it is in the window; it has %s: change -from, -to or -skip", name,
			r.extent())
	}
	if asJSON {
		return v.json(r, &stats)
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		if r.Total > 1 {
			fmt.Fprintf(v.app.Stdout, "%sprocess %d of %d: ", lineUnless(i == 0), r.Total-len(r.Processes)+i+1, r.Total)
		}
		fmt.Fprintf(v.app.Stdout, "%s\n\n", p.head())
		if err := WriteSummary(v.app.Stdout, &p.Summary, p.Util, v.app.Style); err != nil {
			return err
		}
	}
	v.notes(r, &stats)
	return nil
}

// lineUnless returns an empty line, or "" before the first text.
func lineUnless(first bool) string {
	if first {
		return ""
	}
	return "\n"
}

// json leaves summary out if there are several processes, so that a part is not taken for the
// whole.
func (v *view) json(r *Report, stats *gctrace.Stats) error {
	var one *gctrace.Summary
	if r.Total == 1 {
		one = &r.Processes[0].Summary
	}
	return cli.WriteJSON(v.app.Stdout, struct {
		Summary   *gctrace.Summary `json:"summary,omitempty"`
		Processes []Process        `json:"processes"`
		Log       *gctrace.Stats   `json:"log"`
	}{one, r.Processes, stats})
}

func (v *view) notes(r *Report, stats *gctrace.Stats) {
	note := func(format string, a ...any) { fmt.Fprintf(v.app.Stdout, "! "+format+"\n", a...) }
	switch {
	case r.sources > 1:
		note("collections of %d processes, told apart by the prefixes of their lines", r.Total)
	case r.Total > 1:
		note("collections of %d processes, one after the other: their numbers or times begin anew", r.Total)
	}
	if n := r.Total - len(r.Processes); n > 0 {
		note("the first %d processes are left out: did several programs write into this log at once?", n)
	}
	if r.Total == 1 && r.part.To != 0 {
		if p := &r.Processes[0]; p.until < time.Duration(r.part.To) {
			note("the log ends at %s, before -to: that nothing was collected from then on is a guess",
				textfmt.Duration(p.until))
		}
	}
	if stats.Recovered > 0 {
		note("lines that other output or a line break had cut, and that were put together again: %d", stats.Recovered)
	}
	if stats.Lost > 0 {
		note("collections whose lines are missing or could not be read: %s", textfmt.Count(float64(stats.Lost)))
	}
	if stats.FivePhases > 0 {
		note("gctrace lines of Go 1.5, which have five phases and are not read: %s",
			textfmt.Count(float64(stats.FivePhases)))
	}
	if stats.Truncated {
		note("the log ends in the middle of a line")
	}
}
