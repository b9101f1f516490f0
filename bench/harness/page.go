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
	"strings"
	"time"
)

const pageHead = `# Benchmarks

This page is generated from [bench/results](../bench/results). A claim is **met** if the whole interval of its figure
meets the target, **missed** if no part does, and otherwise **inconclusive**. A figure is the median of the rounds, and
brackets hold the interval of their centre (90%%). [Contributing](../CONTRIBUTING.md#benchmarks) says how to measure.

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
	sections := strings.Split(string(text), "\n## ")
	for _, section := range sections[1:] {
		name, why, _ := strings.Cut(section, "\n")
		by[name] = strings.TrimSpace(why)
	}
	return by, nil
}

// machines has a row for each commit that a machine has measured.
func (p *page) machines() {
	count := map[verdict]int{}
	var rows []string
	for _, name := range p.cases {
		for _, s := range p.results[name] {
			for _, f := range s.Figures {
				count[f.Verdict]++
			}
			m := s.machine()
			row := fmt.Sprintf("| %s | %d | %s | %s | %s |", m.CPU, m.Cores, m.Kernel, strings.TrimPrefix(m.Go, "go"),
				s.Versions.Revision)
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	fmt.Fprintf(p.out, "%d figures are met, %d missed and %d inconclusive.\n\n", count[met], count[missed],
		count[inconclusive])
	slices.Sort(rows)
	fmt.Fprintln(p.out, "| machine | cores | kernel | Go | commit |\n|---|---|---|---|---|")
	fmt.Fprintln(p.out, strings.Join(rows, "\n"))
	p.peers()
}

// peers has the versions of the newest result.
func (p *page) peers() {
	all := slices.Concat(slices.Collect(maps.Values(p.results))...)
	if len(all) == 0 {
		return
	}
	last := slices.MaxFunc(all, func(a, b *set) int { return a.Started.Compare(b.Started) })
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
		fmt.Fprintf(p.out, " [%s](../bench/results/%s), %s |", s.machine().CPU, s.name, s.Started.Format(time.DateOnly))
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
	if someMissed {
		fmt.Fprintf(p.out, "\n%s\n", cmp.Or(p.reasons[c.Name], "Why figures are missed is not known."))
	}
}

func find(figures []figure, name string) *figure {
	if at := slices.IndexFunc(figures, func(f figure) bool { return f.Name == name }); at >= 0 {
		return &figures[at]
	}
	return nil
}
