//go:build linux

package harness

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

type set struct {
	Benchmark string         `json:"benchmark"`
	Started   time.Time      `json:"started"`
	Machine   any            `json:"machine"`
	Versions  map[string]any `json:"versions"`
	Figures   []figure       `json:"figures"`
	Raw       map[string]any `json:"raw"`

	out io.Writer
}

func newSet(name string, started time.Time, out io.Writer) *set {
	return &set{
		Benchmark: name, Started: started, Machine: thisMachine(), Raw: map[string]any{}, out: out,
		Versions: map[string]any{"go": runtime.Version(), "revision": revision(), "modules": modules()},
	}
}

// revision names the commit, with -dirty if the work tree differs.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "not known: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}

func modules() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			versions[m.Path] = m.Version
		}
	}
	return versions
}

// thisMachine returns the machine as evenkeel writes it to run.json.
func thisMachine() any {
	cmd := exec.Command("go", "run", "./cmd/evenkeel", "version", "-json")
	cmd.Dir = Root()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var said struct{ Machine json.RawMessage }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		return "not known: evenkeel version: " + err.Error()
	}
	return said.Machine
}

// checkSave returns an error if the work tree of dir differs from its commit, so nobody could check
// out what was measured.
func checkSave(dir string) error {
	for at := dir; at != ""; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err != nil && at != filepath.Dir(at) {
			continue // save makes it
		}
		out, err := exec.Command("git", "-C", at, "describe", "--always", "--dirty", "--abbrev=12").Output()
		if err != nil || !strings.Contains(string(out), "-dirty") {
			return nil // dir is in no work tree, or nothing has changed there
		}
		return fmt.Errorf("no results go to %s, because the work tree differs from its commit (%s); "+
			"commit the changes first, or keep the results elsewhere with -results", dir,
			strings.TrimSpace(string(out)))
	}
	return nil
}

// A case has one file for each kind of machine.
func (s *set) file() string {
	var m struct {
		CPU   string `json:"cpu"`
		Cores int    `json:"cores"`
	}
	if text, ok := s.Machine.(json.RawMessage); ok {
		_ = json.Unmarshal(text, &m) // a machine that is not known has no name
	}
	words := strings.FieldsFunc(strings.ToLower(cmp.Or(m.CPU, "unknown")), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return fmt.Sprintf("%s.%s-%d.json.gz", strings.ReplaceAll(s.Benchmark, "/", "-"), strings.Join(words, "-"), m.Cores)
}

func (s *set) save(dir string) error {
	if err := checkSave(dir); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(append(text, '\n')); err != nil {
		return err
	}
	name := filepath.Join(dir, s.file())
	if err := errors.Join(z.Close(), os.MkdirAll(dir, 0o755), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "results:", name)
	return nil
}

// Judge prints the tables and claims of a file of results.
func (h *Harness) Judge(name string) error {
	saved, err := readSaved(name)
	if err != nil {
		return err
	}
	s := &set{out: h.Out}
	if c := h.caseOf(saved); c != nil {
		res := &Result{Case: c, Runs: saved.Raw.Runs, Out: h.Out}
		res.table()
		s.judge(res)
		return nil
	}
	for _, f := range saved.Figures { // of a case of a test
		s.add(f)
	}
	return nil
}

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

// caseOf returns nil if a test has the case.
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

// Page prints docs/benchmarks.md. It judges the raw values in dir anew. The results of tests come
// last, as they were judged.
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
			judged.judge(&Result{Case: c, Runs: s.Raw.Runs, Out: io.Discard})
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

func (s *saved) page(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d cores, Go %s, %s, commit %s ([raw](../bench/results/%s)):\n\n",
		s.Machine.CPU, s.Machine.Cores, strings.TrimPrefix(s.Machine.Go, "go"),
		s.Started.Format(time.DateOnly), s.Versions.Revision, s.name)
	fmt.Fprint(out, "| claim | figure | target | |\n|---|---|---|---|\n")
	for _, f := range s.Figures {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", f.Name, f.text(), f.Target, f.Verdict)
	}
}
