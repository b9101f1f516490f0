// Package gclog summarises logs of GODEBUG=gctrace=1 for each process.
package gclog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

const (
	maxProcesses = 100                    // the last ones
	rest         = 500 * time.Millisecond // for the last lines of a program that Ctrl-C ends, too
)

type Part struct {
	From, To cli.Period // since the program's start; to 0: no bound
}

// Report is what a log holds.
type Report struct {
	part      Part
	Processes []Process
	Total     int
}

type Process struct {
	First   int64           `json:"first_gc"`
	Last    int64           `json:"last_gc"`
	From    time.Duration   `json:"from_ns"`
	To      time.Duration   `json:"to_ns"` // since the program's start, as From
	Util    int             `json:"util_percent"`
	Summary gctrace.Summary `json:"summary"`

	read  int64
	until time.Duration
}

// Summarize reads cycles once.
func (part Part) Summarize(cycles iter.Seq[gctrace.Cycle]) *Report {
	r := &Report{part: part, Processes: []Process{}}
	next, stop := iter.Pull(cycles)
	defer stop()
	for ahead, more := next(); more; r.Total++ {
		first, last := true, gctrace.Cycle{}
		p := part.process(func() (gctrace.Cycle, bool) {
			if !more || !first && Restarted(last, ahead) {
				return gctrace.Cycle{}, false
			}
			first, last = false, ahead
			ahead, more = next()
			return last, true
		})
		r.Processes = append(r.Processes[max(len(r.Processes)-maxProcesses+1, 0):], p)
	}
	return r
}

// The window begins at the program's start, or at the first line of a log without its beginning.
func (part Part) process(next func() (gctrace.Cycle, bool)) Process {
	p := Process{}
	w := gctrace.Window{From: time.Duration(part.From), To: time.Duration(part.To)}
	c, more := next()
	if c.N > 1 {
		w.From = max(w.From, c.At)
	}
	p.Summary = gctrace.Summarize(func(yield func(gctrace.Cycle) bool) {
		for ; more; c, more = next() {
			p.read++
			p.until = max(p.until, c.End())
			if w.Holds(c) {
				p.First, p.Last, p.Util = cmp.Or(p.First, c.N), c.N, c.UtilPercent
			}
			yield(c)
		}
	}, w)
	p.From, p.To = w.From, w.To
	if w.To == 0 {
		p.To = max(w.From, p.until)
	}
	return p
}

// Restarted reports whether c is of a later process.
func Restarted(last, c gctrace.Cycle) bool { return c.N <= last.N || c.At < last.At }

func (p *Process) head() string {
	if p.First == 0 {
		return fmt.Sprintf("no collection from %s to %s after the program's start", textfmt.Duration(p.From),
			textfmt.Duration(p.To))
	}
	return fmt.Sprintf("gc %d to gc %d, from %s to %s after the program's start; %d%% in GC since that start",
		p.First, p.Last, textfmt.Duration(p.From), textfmt.Duration(p.To), p.Util)
}

func (r *Report) extent() string {
	p := &r.Processes[len(r.Processes)-1]
	s := fmt.Sprintf("%s collections up to %s after the program's start", textfmt.Count(float64(p.read)),
		textfmt.Duration(p.until))
	if r.Total > 1 {
		s = "in its last process " + s
	}
	return s
}

// Show prints a log's summary, or JSON. Its errors begin with name. It reads until the log ends, or for
// rest after ctx.
func Show(ctx context.Context, a *cli.App, in io.Reader, name string, part Part, asJSON bool) error {
	whole, ended := io.Pipe() // because nothing interrupts a read of standard input
	go func() {
		_, err := io.Copy(ended, in)
		ended.CloseWithError(err)
	}()
	defer context.AfterFunc(ctx, func() {
		time.Sleep(rest)
		ended.Close()
	})()
	log := gctrace.NewScanner(whole)
	r := part.Summarize(log.All())
	err := log.Err()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err = r.show(a, name, log.Stats(), asJSON); ctx.Err() != nil {
		err = errors.Join(err, cli.ErrInterrupted)
	}
	return err
}

func (r *Report) show(a *cli.App, name string, stats gctrace.Stats, asJSON bool) error {
	switch {
	case r.Total > 0:
	case stats.Lost > 0:
		return fmt.Errorf("%s: none of %s gctrace lines is whole; keep standard error unchanged, "+
			"or build the program with a newer Go",
			name, textfmt.Count(float64(stats.Lost)))
	default:
		return fmt.Errorf("%s: no gctrace line; start the program with GODEBUG=gctrace=1 and keep its stderr", name)
	}
	counted := int64(0)
	for i := range r.Processes {
		counted += r.Processes[i].Summary.Collections
	}
	if counted == 0 {
		return fmt.Errorf("%s: no collection of it is in the window; it has %s: change -from or -to", name,
			r.extent())
	}
	if asJSON {
		return r.json(a, &stats)
	}
	for i, p := range r.Processes {
		if r.Total > 1 {
			if i > 0 {
				fmt.Fprintln(a.Stdout)
			}
			fmt.Fprintf(a.Stdout, "process %d of %d: ", r.Total-len(r.Processes)+i+1, r.Total)
		}
		fmt.Fprintf(a.Stdout, "%s\n\n", p.head())
		if err := WriteSummary(a.Stdout, &p.Summary, p.Util, a.Style); err != nil {
			return err
		}
	}
	r.notes(a, &stats)
	return nil
}

// Several processes have no single summary, which could be taken for the whole.
func (r *Report) json(a *cli.App, stats *gctrace.Stats) error {
	var one *gctrace.Summary
	if r.Total == 1 {
		one = &r.Processes[0].Summary
	}
	return cli.WriteJSON(a.Stdout, struct {
		Summary   *gctrace.Summary `json:"summary,omitempty"`
		Processes []Process        `json:"processes"`
		Log       *gctrace.Stats   `json:"log"`
	}{one, r.Processes, stats})
}

func (r *Report) notes(a *cli.App, stats *gctrace.Stats) {
	note := func(format string, args ...any) { fmt.Fprintf(a.Stdout, "! "+format+"\n", args...) }
	if r.Total > 1 {
		note("collections of %d processes, one after the other: their numbers or times begin anew", r.Total)
	}
	if n := r.Total - len(r.Processes); n > 0 {
		note("the first %d processes are left out. Did several programs write it at once? Give each a log", n)
	}
	if r.Total == 1 && r.part.To != 0 {
		if p := &r.Processes[0]; p.until < time.Duration(r.part.To) {
			note("the log ends at %s, before -to: that nothing was collected from then on is a guess",
				textfmt.Duration(p.until))
		}
	}
	if stats.Recovered > 0 {
		note("lines that other output had cut, and that were put together again: %d", stats.Recovered)
	}
	if stats.Lost > 0 {
		note("collections whose lines are missing or could not be read: %s", textfmt.Count(float64(stats.Lost)))
	}
}

// WriteSummary takes util, the runtime's own percentage since the program's start.
func WriteSummary(w io.Writer, s *gctrace.Summary, util int, st textfmt.Style) error {
	var b strings.Builder
	read, partial := s.Read.Get()
	of := ""
	if partial {
		of = fmt.Sprintf(", of the %s of %s cycles that the log has", textfmt.Count(float64(read)),
			textfmt.Count(float64(s.Collections)))
	}
	head := textfmt.NewTable(2)
	forced := ""
	if n, ok := s.Forced.Get(); ok && n > 0 {
		forced = fmt.Sprintf(" (%s forced%s)", textfmt.Count(float64(n)), of)
	}
	head.Row("collections", textfmt.Count(float64(s.Collections))+forced)
	head.Row("window", value(s.Window, textfmt.Duration))
	head.Row("average pace", value(s.Pace, textfmt.Duration))
	procs := ""
	if n, ok := s.Procs.Get(); ok {
		procs = " of " + textfmt.Plural(n, "processor")
	}
	if partial {
		head.Row("time in GC", fmt.Sprintf("%d%%%s since the program's start, as the last line says", util, procs))
	} else {
		head.Row("time in GC", value(s.CPUPercent, textfmt.Percent)+procs)
	}
	if !s.AllocBytes.IsZero() {
		head.Row("allocated", value(s.AllocBytes, bytesText)+of)
	} else {
		head.Row("allocated", "-")
	}
	head.Render(&b)

	fmt.Fprintln(&b)
	phases := textfmt.NewTable(3)
	phases.Add(st.Bold, []string{"phase" + of, "wall clock", "CPU"})
	phase := func(name string, wall, cpu gctrace.Value[time.Duration]) {
		phases.Row(name, value(wall, textfmt.Duration), value(cpu, textfmt.Duration))
	}
	none := gctrace.Value[time.Duration]{}
	phase("sweep termination (stopped)", s.Wall.SweepTermination, s.CPU.SweepTermination)
	phase("mark: background", s.Wall.Mark, s.CPU.Background)
	phase("mark: assists", none, s.CPU.Assist)
	phase("mark: idle workers", none, s.CPU.Idle)
	phase("mark termination (stopped)", s.Wall.MarkTermination, s.CPU.MarkTermination)
	phase("stopped, both", s.Wall.Pause, s.CPU.Pause)
	phase("longest stop", s.Wall.PauseMax, none)
	phase("total, without idle workers", s.Wall.Total, s.CPU.Total)
	phases.Render(&b)

	fmt.Fprintln(&b)
	heap := textfmt.NewTable(4)
	heap.Add(st.Bold, []string{"heap" + of, "last", "mean", "max"})
	for _, r := range []struct {
		name string
		r    gctrace.Range
	}{
		{"at start of a collection", s.Heap.Before},
		{"at its end", s.Heap.After},
		{"live", s.Heap.Live},
		{"goal", s.Heap.Goal},
	} {
		heap.Row(r.name, value(r.r.Last, bytesText), value(r.r.Mean, bytesText), value(r.r.Max, bytesText))
	}
	heap.Render(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func value[T any](v gctrace.Value[T], format func(T) string) string {
	x, ok := v.Get()
	if !ok {
		return "-"
	}
	return format(x)
}

func bytesText(n int64) string { return textfmt.Bytes(float64(n)) }
