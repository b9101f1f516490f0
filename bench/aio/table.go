package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"evenkeel.dev/bench/figure"
)

// column is a figure of a table.
type column struct {
	head   string
	of     func(sample) float64
	format string
}

// table describes a workload's table.
type table struct {
	workload string
	title    string
	columns  []column
	note     string
}

var bytesEach = []column{{"bytes each", anonymous, "%.0f"}, {"with pages of files", func(s sample) float64 {
	if s.Idle == nil {
		return math.NaN()
	}
	return s.Idle.Resident
}, "%.0f"}}

var shown = append([]table{
	{
		"echo64k", "64 KiB echo on one connection",
		[]column{{"MB/s", megabytes, "%.0f"}, {"p50 µs", p50, "%.0f"}, {"p99 µs", p99, "%.0f"}, {"CPU µs", cpu, "%.1f"}},
		"gaio README publishes 1883 MB/s, 518 B/op, 4 allocs/op for BenchmarkEcho64K, client and server in one process on its author's machine",
	},
	{
		"pingpong", "ping-pong",
		[]column{
			{"msg/s", rate, "%.0f"},
			{"CPU µs", cpu, "%.2f"},
			{"p50 µs", p50, "%.0f"},
			{"p99 µs", p99, "%.0f"},
			{"p99.9 µs", p999, "%.0f"},
			{"syscalls/msg", syscalls, "%.3f"},
		},
		"",
	},
	{
		"burst", "clients that connect, send once and read it back",
		[]column{{"wall ms", wall, "%.0f"}, {"p50 µs", p50, "%.0f"}, {"p99 µs", p99, "%.0f"}, {"CPU µs", cpu, "%.1f"}, {"stalls", stalls, "%.0f"}},
		"gaio README publishes 0.94 s for its test of 8,192 clients, client and server in one process on its author's machine",
	},
	{
		"idle", "idle connections that have spoken once",
		bytesEach,
		"",
	},
	{
		"sleeper", "lateness of a goroutine that sleeps 5 ms, beside the load of a ping-pong",
		[]column{{"mean µs", lateMean, "%.0f"}, {"p99 µs", lateP99, "%.0f"}, {"msg/s", rate, "%.0f"}},
		"",
	},
}, rowTables...)

// tables prints every workload that was measured: medians over the rounds, and the range of the
// first column.
func tables(r *recorded, out io.Writer) {
	for _, t := range shown {
		for _, p := range measured(r, t.workload) {
			fmt.Fprintf(out, "\n%s: %d B, %d connections\n", t.title, p.size, p.conns)
			t.print(r, p, out)
		}
		if t.note != "" && len(measured(r, t.workload)) > 0 {
			fmt.Fprintln(out, "  "+t.note)
		}
	}
	regressionTable(r, out)
}

func (t table) print(r *recorded, p point, out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\t")
	for i, c := range t.columns {
		fmt.Fprint(w, c.head, "\t")
		if i == 0 {
			fmt.Fprint(w, "range\t")
		}
	}
	fmt.Fprintln(w)
	for _, s := range allServers {
		if len(r.all(s.name, p, t.columns[0].of)) == 0 {
			continue
		}
		label := s.name
		if s.note != "" {
			label += " (" + s.note + ")"
		}
		fmt.Fprint(w, label, "\t")
		for i, c := range t.columns {
			xs := r.all(s.name, p, c.of)
			if len(xs) == 0 {
				fmt.Fprint(w, "-\t")
				continue
			}
			fmt.Fprintf(w, c.format+"\t", figure.Median(xs))
			if i == 0 {
				fmt.Fprintf(w, c.format+".."+c.format+"\t", slices.Min(xs), slices.Max(xs))
			}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
}

// measured returns the points of a workload that have samples, smallest first.
func measured(r *recorded, workload string) (ps []point) {
	for _, s := range r.Samples {
		p := point{s.Workload, s.Size, s.Conns}
		if s.Workload == workload && !slices.Contains(ps, p) {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, func(a, b point) int {
		if a.size != b.size {
			return a.size - b.size
		}
		return a.conns - b.conns
	})
	return ps
}

// judge reads raw results and adds their figures.
func (r *recorded) judge(set *figure.Set, from figure.Recorded) error {
	if _, err := from.Read("aio", r); err != nil {
		return err
	}
	if len(r.Samples) == 0 {
		return errors.New("no samples")
	}
	for _, failure := range r.Failures {
		fmt.Fprintln(set.Out, failure)
	}
	tables(r, set.Out)
	targets(set, r)
	return nil
}

// show prints a run that is recorded, and draws it.
func show(again figure.Again, plots string, markdown bool, out io.Writer) error {
	var raw recorded
	err := again.Judge("aio", out, func(set *figure.Set, from figure.Recorded) error {
		err := raw.judge(set, from)
		if markdown && err == nil {
			figureTable(set, out)
		}
		return err
	})
	if err != nil || plots == "" {
		return err
	}
	return plotAll(&raw, plots)
}
