//go:build linux

package harness

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pageHead = `# Benchmarks

This page is generated from [bench/results](../bench/results). A claim is **met** if the whole interval of its figure
meets the target, **missed** if no part does, and otherwise **inconclusive**. A figure is the median of the rounds, and
brackets hold the interval of their centre (90%%). Bars are medians on the first machine of a table. A column's head has
the day, and the last commit that had changed what the case measures.
[Contributing](../CONTRIBUTING.md#benchmarks) says how to measure.

"make bench RUN=aio/echo" measures a case, and "make bench" all of them in about %v.

`

// Page prints docs/benchmarks.md. It judges the raw values in dir anew. The results of tests come
// last, as they were judged.
func (h *Harness) Page(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.json.gz"))
	if err != nil {
		return err
	}
	p := page{out: h.Out, results: map[string][]*set{}}
	if p.reasons, err = reasons(dir); err != nil {
		return err
	}
	for _, name := range names {
		s, err := readSaved(name)
		if err != nil {
			return err
		}
		if c := h.caseOf(s); c != nil {
			s.Figures, s.out = nil, io.Discard
			s.judge(&Result{Case: c, Runs: s.Raw.Runs, Out: io.Discard})
		}
		if p.results[s.Benchmark] == nil && len(s.Figures) > 0 {
			p.cases = append(p.cases, s.Benchmark)
		}
		p.results[s.Benchmark] = append(p.results[s.Benchmark], s)
	}
	var all time.Duration
	var missing []string
	for i := range h.Cases {
		c := &h.Cases[i]
		if p.results[c.Name] == nil {
			missing = append(missing, c.Name)
		}
		took := c.takes()
		for _, s := range p.results[c.Name] {
			took = max(took, time.Duration(s.Seconds*float64(time.Second)))
		}
		all += took
	}
	fmt.Fprintf(p.out, pageHead, strings.TrimSuffix(all.Round(10*time.Minute).String(), "0s"))
	p.machines()
	for i := range h.Cases {
		if c := &h.Cases[i]; p.results[c.Name] != nil {
			p.section(c)
		}
	}
	for _, name := range p.cases {
		if !slices.ContainsFunc(h.Cases, func(c Case) bool { return c.Name == name }) {
			p.section(&Case{Name: name, What: cmp.Or(p.results[name][0].What, "what a test checks")})
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(p.out, "\n## Not measured\n\n- %s\n", strings.Join(missing, "\n- "))
	}
	return nil
}

// charts are of one figure, with a bar for each way: its median on the first machine.
var charts = map[string]struct{ load, figure, label string }{
	"aio/idle":     {"8,000", "bytes/connection", "bytes of each of 8,000 connections"},
	"fastc/calls":  {"", "add2", "adding two numbers, ns"},
	"gate/haproxy": {"moderate", "p99.9", "p99.9, ms"},
	"httpd/crowd":  {"idle", "MB", "most connections idle, MB"},
	"load/closed":  {"", "requests/s", "requests/s"},
}

type page struct {
	out     io.Writer
	cases   []string
	results map[string][]*set // by case
	reasons map[string]string // why figures are missed, by case
}

// reasons returns the sections of dir's missed.md, which is written by hand.
func reasons(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "missed.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	by := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, why, _ := strings.Cut(section, "\n")
		by[name] = strings.TrimSpace(why)
	}
	return by, nil
}

// machines has a row for each machine, kernel and Go that has measured, and the newest result's peers.
func (p *page) machines() {
	count, rows, last := map[verdict]int{}, map[string]bool{}, &set{}
	for _, name := range p.cases {
		for _, s := range p.results[name] {
			for _, f := range s.Figures {
				count[f.Verdict]++
			}
			m := s.machine()
			row := fmt.Sprintf("| %s | %d | %s | %s |\n", m.CPU, m.Cores, m.Kernel, strings.TrimPrefix(m.Go, "go"))
			rows[row] = true
			if s.Started.After(last.Started) {
				last = s
			}
		}
	}
	fmt.Fprintf(p.out, "%d figures are met, %d missed and %d inconclusive.\n\n", count[met], count[missed],
		count[inconclusive])
	fmt.Fprintln(p.out, "| machine | cores | kernel | Go |\n|---|---|---|---|")
	fmt.Fprint(p.out, strings.Join(slices.Sorted(maps.Keys(rows)), ""))
	var names []string
	for _, m := range peers {
		if v := last.Versions.Modules[m]; v != "" {
			names = append(names, m+" "+v)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(p.out, "\nThe peers are %s.\n", strings.Join(names, ", "))
	}
}

// section has a column for each machine.
func (p *page) section(c *Case) {
	sets := p.results[c.Name]
	fmt.Fprintf(p.out, "\n## %s\n\n%s.\n\n| claim | target |", c.Name, strings.ToUpper(c.What[:1])+c.What[1:])
	var figures []figure // a machine may lack some
	for _, s := range sets {
		fmt.Fprintf(p.out, " [%s](../bench/results/%s), %s, %s |", s.machine().CPU, s.name,
			s.Started.Format(time.DateOnly), s.Versions.Revision)
		for _, f := range s.Figures {
			if find(figures, f.Name) == nil {
				figures = append(figures, f)
			}
		}
	}
	fmt.Fprintf(p.out, "\n|---|---|%s\n", strings.Repeat("---|", len(sets)))
	someMissed := false
	for _, f := range figures {
		fmt.Fprintf(p.out, "| %s | %s |", f.Name, f.Target)
		for _, s := range sets {
			cell := ""
			if f := find(s.Figures, f.Name); f != nil {
				cell = f.text() + " " + string(f.Verdict)
				someMissed = someMissed || f.Verdict == missed
			}
			fmt.Fprintf(p.out, " %s |", cell)
		}
		fmt.Fprintln(p.out)
	}
	p.chart(c)
	if someMissed {
		fmt.Fprintf(p.out, "\n%s\n", cmp.Or(p.reasons[c.Name], "Why figures are missed is not known."))
	}
}

// chart is drawn by what renders the Markdown (https://mermaid.js.org/syntax/xyChart.html).
func (p *page) chart(c *Case) {
	chart, res := charts[c.Name], Result{Case: c, Runs: p.results[c.Name][0].Raw.Runs}
	var ways, bars []string
	longest := 0.
	for _, way := range c.Ways {
		if xs, _ := res.Of(way, chart.load, chart.figure); len(xs) > 0 {
			ways, bars = append(ways, strconv.Quote(way)), append(bars, digits(Median(xs)))
			longest = max(longest, Median(xs))
		}
	}
	if len(bars) == 0 {
		return
	}
	fmt.Fprintf(p.out, "\n```mermaid\nxychart-beta horizontal\n  x-axis [%s]\n  y-axis %q 0 --> %s\n  bar [%s]\n```\n",
		strings.Join(ways, ", "), chart.label, digits(longest), strings.Join(bars, ", "))
}

func find(figures []figure, name string) *figure {
	if at := slices.IndexFunc(figures, func(f figure) bool { return f.Name == name }); at >= 0 {
		return &figures[at]
	}
	return nil
}
