package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"evenkeel.dev/gctrace"
)

// GCText writes a summary of the collector's work.
func GCText(w io.Writer, s *gctrace.Summary, st Style) error {
	var b strings.Builder
	head := newTable(2)
	line := func(name, value string) { head.add(nil, []string{name, value}) }
	forced := ""
	if n, ok := s.Forced.Get(); ok && n > 0 {
		forced = fmt.Sprintf(" (%s forced)", FormatCount(float64(n)))
	}
	line("collections", FormatCount(float64(s.Collections))+forced)
	line("window", value(s.Window, FormatDuration))
	line("average pace", value(s.Pace, FormatDuration))
	procs := ""
	if n, ok := s.Procs.Get(); ok {
		procs = fmt.Sprintf(" of %d P", n)
	}
	line("time in GC", value(s.CPUPercent, FormatPercent)+procs)
	line("allocated", value(s.AllocBytes, bytesText))
	head.write(&b)

	fmt.Fprintln(&b)
	phases := newTable(3)
	phases.add(st.bold, []string{"phase", "wall clock", "CPU"})
	phase := func(name string, wall, cpu gctrace.Value[time.Duration]) {
		phases.add(nil, []string{name, value(wall, FormatDuration), value(cpu, FormatDuration)})
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
	phases.write(&b)

	fmt.Fprintln(&b)
	heap := newTable(4)
	heap.add(st.bold, []string{"heap", "last", "mean", "max"})
	for _, r := range []struct {
		name string
		r    gctrace.Range
	}{{"at start of a collection", s.Heap.Before}, {"at its end", s.Heap.After}, {"live", s.Heap.Live}, {"goal", s.Heap.Goal}} {
		heap.add(nil, []string{r.name, value(r.r.Last, bytesText), value(r.r.Mean, bytesText), value(r.r.Max, bytesText)})
	}
	heap.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// value formats a figure, "-" where the source lacks it.
func value[T any](v gctrace.Value[T], format func(T) string) string {
	x, ok := v.Get()
	if !ok {
		return "-"
	}
	return format(x)
}

func bytesText(n int64) string { return FormatBytes(float64(n)) }
