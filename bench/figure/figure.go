// Package figure prints what a benchmark must show, one line a figure (name, measured, target,
// met or missed), and keeps the raw results beside it.
package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Figure is one line.
type Figure struct {
	Name     string    `json:"name"`
	Measured float64   `json:"measured"`
	Range    []float64 `json:"range,omitempty"` // of the repeats: lowest, highest
	Unit     string    `json:"unit,omitempty"`
	Target   string    `json:"target"`
	Met      bool      `json:"met"`
}

// Set is what one benchmark shows. Its zero value is ready; it is not safe for concurrent use.
type Set struct {
	Benchmark string         `json:"benchmark"`
	Started   time.Time      `json:"started"`
	Machine   any            `json:"machine"`
	Versions  map[string]any `json:"versions"`
	Figures   []Figure       `json:"figures"`
	Raw       map[string]any `json:"raw"`

	Out io.Writer `json:"-"` // where the lines go
}

// New returns an empty set that prints to standard output.
func New(benchmark string) *Set {
	return &Set{
		Benchmark: benchmark, Started: time.Now().UTC(), Raw: map[string]any{}, Out: os.Stdout,
		Versions: map[string]any{"go": runtime.Version(), "revision": revision()},
	}
}

// revision names the commit that is measured, and whether the work tree differs from it.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "not known: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}

// Machine returns the machine as evenkeel writes it to run.json, from its command: what is internal to
// the root module is not for this one to import. Drivers run in the folder bench, their tests below it.
func Machine() any {
	cmd := exec.Command("go", "run", "./cmd/evenkeel", "version", "-json")
	cmd.Dir = ".."
	for range 3 {
		if _, err := os.Stat(filepath.Join(cmd.Dir, "cmd", "evenkeel")); err == nil {
			break
		}
		cmd.Dir = filepath.Join(cmd.Dir, "..")
	}
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

// AtLeast adds a figure that has to reach a bound.
func (s *Set) AtLeast(name string, xs []float64, bound float64, unit string) {
	m := Median(xs)
	s.Add(name, xs, unit, fmt.Sprintf(">= %.3g", bound), m >= bound)
}

// AtMost adds a figure that must not exceed a bound.
func (s *Set) AtMost(name string, xs []float64, bound float64, unit string) {
	m := Median(xs)
	s.Add(name, xs, unit, fmt.Sprintf("<= %.3g", bound), m <= bound)
}

// Add adds the median of xs as a figure and prints its line.
func (s *Set) Add(name string, xs []float64, unit, target string, met bool) {
	f := Figure{Name: name, Measured: Median(xs), Unit: unit, Target: target, Met: met}
	text := fmt.Sprintf("%.4g%s", f.Measured, unit)
	if len(xs) > 1 {
		f.Range = []float64{slices.Min(xs), slices.Max(xs)}
		text += fmt.Sprintf(" [%.4g..%.4g]", f.Range[0], f.Range[1])
	}
	verdict := "missed"
	if met {
		verdict = "met"
	}
	fmt.Fprintf(s.Out, "%-58s %-32s %-22s %s\n", name, text, target, verdict)
	s.Figures = append(s.Figures, f)
}

// Save writes the set to dir/BENCHMARK-DATE-TIME.json and says so.
func (s *Set) Save(dir string) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, s.Benchmark+"-"+s.Started.Format("2006-01-02-1504")+".json")
	if err := os.WriteFile(name, append(b, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(s.Out, "raw results:", name)
	return nil
}

// Median returns the median, 0 of nothing.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// Ratios returns a[i]/b[i].
func Ratios(a, b []float64) []float64 {
	r := make([]float64, 0, len(a))
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return r
}
