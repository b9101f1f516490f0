//go:build linux

package harness

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// saved is a file of results, as it is read again.
type saved struct {
	name      string
	Benchmark string
	Started   time.Time
	Machine   struct {
		CPU   string
		Cores int
		Go    string
	}
	Versions struct{ Revision string }
	Figures  []figure
	Raw      struct{ Runs []*Run }
}

func readSaved(name string) (*saved, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; write the name of a file of bench/results that ends in .json.gz", name, err)
	}
	s := &saved{}
	if err := json.NewDecoder(z).Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// caseOf returns the case of the results, or nil if a test has it.
func (h *Harness) caseOf(s *saved) *Case {
	at := slices.IndexFunc(h.Cases, func(c Case) bool { return c.Name == s.Benchmark })
	if at < 0 {
		return nil
	}
	return &h.Cases[at]
}

const pageHead = `# Benchmarks

This page is generated from [bench/results](../bench/results) by the option -page of bench. Each claim is met, missed or
inconclusive. Brackets hold the interval of the runs' centre (90%). "make bench FLAGS=-list" prints all claims, and
"make bench RUN=aio/echo" measures a case. [Contributing](../CONTRIBUTING.md#benchmarks) says how.

| case | measures | claims | takes | measured |
|---|---|---|---|---|
`

// Page prints docs/benchmarks.md: all cases, with the figures of each machine that has results in dir. It
// judges the raw values anew. Results of a case that is a test come last, as they were judged.
func (h *Harness) Page(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.json.gz"))
	if err != nil {
		return err
	}
	results := map[string][]*saved{}
	var tests []*saved
	for _, name := range names {
		s, err := readSaved(name)
		if err != nil {
			return err
		}
		s.name = filepath.Base(name)
		if h.caseOf(s) == nil && len(s.Figures) > 0 {
			tests = append(tests, s)
		}
		results[s.Benchmark] = append(results[s.Benchmark], s)
	}
	fmt.Fprint(h.Out, pageHead)
	for _, c := range h.Cases {
		measured := ""
		if len(results[c.Name]) > 0 {
			measured = "yes"
		}
		fmt.Fprintf(h.Out, "| %s | %s | %d | %v | %s |\n", c.Name, c.What, len(c.Claims), c.takes(), measured)
	}
	for i := range h.Cases {
		c := &h.Cases[i]
		for n, s := range results[c.Name] {
			if n == 0 {
				fmt.Fprintf(h.Out, "\n## %s\n", c.Name)
			}
			judged := set{out: io.Discard}
			judged.judge(&Result{Case: c, Runs: s.Raw.Runs, Out: &Output{io.Discard}})
			s.Figures = judged.Figures
			s.page(h.Out)
		}
	}
	for _, s := range tests {
		fmt.Fprintf(h.Out, "\n## %s\n\nA test with `-full` measures it.\n", s.Benchmark)
		s.page(h.Out)
	}
	return nil
}

// page prints the figures of a file.
func (s *saved) page(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d cores, Go %s, %s, commit %s ([raw](../bench/results/%s)):\n\n",
		s.Machine.CPU, s.Machine.Cores, strings.TrimPrefix(s.Machine.Go, "go"),
		s.Started.Format(time.DateOnly), s.Versions.Revision, s.name)
	fmt.Fprint(out, "| claim | figure | target | |\n|---|---|---|---|\n")
	for _, f := range s.Figures {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", f.Name, f.text(), f.Target, f.Verdict)
	}
}
