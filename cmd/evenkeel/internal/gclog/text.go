package gclog

import (
	"fmt"
	"io"
	"strings"
	"time"

	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

// WriteSummary writes a summary. util is the runtime's own percentage since the program's start.
func WriteSummary(w io.Writer, s *gctrace.Summary, util int, st textfmt.Style) error {
	var b strings.Builder
	read, partial := s.Read.Get()
	of := ""
	if partial {
		of = fmt.Sprintf(", of the %s of %s cycles that the log has", textfmt.Count(float64(read)),
			textfmt.Count(float64(s.Collections)))
	}
	head := textfmt.NewTable(2)
	line := func(name, value string) { head.Add(nil, []string{name, value}) }
	forced := ""
	if n, ok := s.Forced.Get(); ok && n > 0 {
		forced = fmt.Sprintf(" (%s forced%s)", textfmt.Count(float64(n)), of)
	}
	line("collections", textfmt.Count(float64(s.Collections))+forced)
	line("window", value(s.Window, textfmt.Duration))
	line("average pace", value(s.Pace, textfmt.Duration))
	procs := ""
	if n, ok := s.Procs.Get(); ok {
		procs = " of " + textfmt.Plural(n, "processor")
	}
	if partial {
		line("time in GC", fmt.Sprintf("%d%%%s since the program's start, as the last line says", util, procs))
	} else {
		line("time in GC", value(s.CPUPercent, textfmt.Percent)+procs)
	}
	if s.AllocBytes.Known() {
		line("allocated", value(s.AllocBytes, bytesText)+of)
	} else {
		line("allocated", "-")
	}
	head.Render(&b)

	fmt.Fprintln(&b)
	phases := textfmt.NewTable(3)
	phases.Add(st.Bold, []string{"phase" + of, "wall clock", "CPU"})
	phase := func(name string, wall, cpu gctrace.Value[time.Duration]) {
		phases.Add(nil, []string{name, value(wall, textfmt.Duration), value(cpu, textfmt.Duration)})
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
		heap.Add(nil, []string{
			r.name, value(r.r.Last, bytesText), value(r.r.Mean, bytesText),
			value(r.r.Max, bytesText),
		})
	}
	heap.Render(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// value formats a figure. "-" means not known.
func value[T any](v gctrace.Value[T], format func(T) string) string {
	x, ok := v.Get()
	if !ok {
		return "-"
	}
	return format(x)
}

func bytesText(n int64) string { return textfmt.Bytes(float64(n)) }
