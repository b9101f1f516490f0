// Package figure prints what a benchmark must show, one line a figure (name, measured, target,
// verdict), and keeps the raw results beside it.
//
// A figure of several runs is judged by the interval that holds its centre with 95% on the target's side
// (evenkeel.dev/tailstat's signed ranks): the target is met where the whole interval meets it, missed where
// none of it does, and else nobody can tell. It takes five runs for that, and a ratio of one run tells nothing. Another
// single value is a count, or was made of all runs at once: it is held against the target as it is, as are values
// that are all alike.
package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/tailstat"
)

// Figure is one line.
type Figure struct {
	Name     string    `json:"name"`
	Measured float64   `json:"measured"`           // median
	Range    []float64 `json:"range,omitempty"`    // of the repeats: lowest, highest
	Interval []float64 `json:"interval,omitempty"` // that holds their centre: low, high; none: too few
	Floor    float64   `json:"floor,omitempty"`    // of ratios: the smallest above 1 that so many repeats show
	Unit     string    `json:"unit,omitempty"`
	Target   string    `json:"target"`
	Verdict  Verdict   `json:"verdict"`
	Note     string    `json:"note,omitempty"` // of a recorded figure that was not made again: why
}

// Verdict is what becomes of a target.
type Verdict string

// Verdicts.
const (
	Met        Verdict = "met"
	Missed     Verdict = "missed"
	CannotTell Verdict = "cannot tell"
)

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
	s.within(name, xs, unit, fmt.Sprintf(">= %.4g", bound), bound, math.Inf(1))
}

// AtMost adds a figure that must not exceed a bound.
func (s *Set) AtMost(name string, xs []float64, bound float64, unit string) {
	s.within(name, xs, unit, fmt.Sprintf("<= %.4g", bound), math.Inf(-1), bound)
}

// Between adds a figure that has to lie between bounds.
func (s *Set) Between(name string, xs []float64, low, high float64, unit string) {
	s.within(name, xs, unit, fmt.Sprintf("%.4g to %.4g", low, high), low, high)
}

func (s *Set) within(name string, xs []float64, unit, target string, low, high float64) {
	from, to := interval(xs)
	v := verdict(from, to, low, high)
	switch {
	case len(xs) == 0:
		v = Missed
	case len(xs) == 1 && unit == "x":
		v = CannotTell
	}
	s.add(name, xs, unit, target, v)
}

// Share adds a share of trials, in percent, that has to lie between bounds: 0 or 100 where there is none. It is judged by
// the interval that holds the true share with 90%, 95% on either side (E. B. Wilson, JASA 22, 1927).
func (s *Set) Share(name string, hits, trials int, low, high float64) {
	target := fmt.Sprintf("%.4g to %.4g", low, high)
	switch {
	case low <= 0:
		target = fmt.Sprintf("<= %.4g", high)
	case high >= 100:
		target = fmt.Sprintf(">= %.4g", low)
	}
	from, to := Wilson(hits, trials)
	s.put(Figure{
		Name: name, Measured: 100 * float64(hits) / float64(max(trials, 1)), Interval: []float64{from, to}, Unit: "%", Target: target, Verdict: verdict(from, to, low, high),
	})
}

// Wilson returns the interval, in percent, in which the true share lies of what happened in so many of the trials.
func Wilson(hits, trials int) (low, high float64) {
	if trials == 0 {
		return 0, 100
	}
	const z = 1.6449
	n := float64(trials)
	p := float64(hits) / n
	mid, half := (p+z*z/2/n)/(1+z*z/n), z*math.Sqrt(p*(1-p)/n+z*z/4/n/n)/(1+z*z/n)
	return 100 * max(0, mid-half), 100 * min(1, mid+half)
}

// Add adds the median of xs as a figure that the caller has judged.
func (s *Set) Add(name string, xs []float64, unit, target string, met bool) {
	verdict := Missed
	if met {
		verdict = Met
	}
	s.add(name, xs, unit, target, verdict)
}

// NotSlower adds what package tailstat says of p99 and p99.9 of runs beside those of a base, in the same rounds: anything but slower
// meets the target, where there are rounds enough to say it.
func (s *Set) NotSlower(name, over string, base, runs []tailstat.Run) {
	o := tailstat.Options{Figures: []tailstat.Figure{tailstat.Value("p99", false), tailstat.Value("p99.9", false)}}
	c, err := tailstat.Compare(base, runs, o)
	if err != nil {
		fmt.Fprintf(s.Out, "%s: no comparison of tails: %v\n", name, err)
		return
	}
	for _, r := range c.Result {
		v := Met
		switch {
		case r.Verdict == tailstat.VerdictSlower:
			v = Missed
		case r.Missing != "" || math.IsInf(r.Within.High, 1): // no ratio of so few rounds would be slower
			v = CannotTell
		}
		s.add(fmt.Sprintf("%s: %s over %s, tailstat: %v", name, r.Figure, over, r.Verdict), []float64{r.Ratio}, "x", "not slower", v)
	}
}

// Tail is a run of a round for [Set.NotSlower].
func Tail(round int, p99, p999 time.Duration) tailstat.Run {
	return tailstat.Run{Round: round, Values: map[string]float64{"p99": p99.Seconds(), "p99.9": p999.Seconds()}}
}

// add adds a figure of runs and prints its line.
func (s *Set) add(name string, xs []float64, unit, target string, verdict Verdict) {
	f := Figure{Name: name, Measured: Median(xs), Unit: unit, Target: target, Verdict: verdict}
	if len(xs) > 1 {
		f.Range = []float64{slices.Min(xs), slices.Max(xs)}
		if low, high := interval(xs); !math.IsInf(high, 1) {
			f.Interval = []float64{low, high}
		}
		f.Floor = floor(xs)
	}
	s.put(f)
}

// put prints a figure's line.
func (s *Set) put(f Figure) {
	fmt.Fprintf(s.Out, "%-58s %-42s %-22s %s\n", f.Name, f.text(), f.Target, f.Verdict)
	s.Figures = append(s.Figures, f)
}

// text returns the measured value with its interval, or its range where there is none.
func (f *Figure) text() string {
	text := fmt.Sprintf("%.4g%s", f.Measured, f.Unit)
	within := f.Interval
	if within == nil {
		within = f.Range
	}
	if len(within) == 2 {
		text += fmt.Sprintf(" [%.4g..%.4g]", within[0], within[1])
	}
	if f.Floor > 0 {
		text += fmt.Sprintf(", shows %.2g%%", 100*(f.Floor-1))
	}
	return text
}

// confidence is that of a two-sided interval, of which a target asks for one side: 0.95 there.
const confidence = .9

// interval returns where the centre of the runs' values lies; all numbers, where they are too few to tell. Ratios and
// times are positive, and differ by factors.
func interval(xs []float64) (low, high float64) {
	if len(xs) > 0 && slices.Min(xs) == slices.Max(xs) {
		return xs[0], xs[0]
	}
	positive := len(xs) > 0 && slices.Min(xs) > 0
	ys := slices.Clone(xs)
	for i := range ys {
		if positive {
			ys[i] = math.Log(ys[i])
		}
	}
	e, err := tailstat.SignedRank(ys, confidence)
	switch {
	case err != nil: // there are none, or one of them is no number
		return math.Inf(-1), math.Inf(1)
	case positive:
		return math.Exp(e.Low), math.Exp(e.High)
	}
	return e.Low, e.High
}

// floor returns the smallest ratio above 1 that as many runs as these, with their noise, show in four of five trials;
// 0: there is none, or these are no ratios.
func floor(xs []float64) float64 {
	var ones, runs []tailstat.Run
	for i, x := range slices.Sorted(slices.Values(xs)) { // the order of rounds says nothing, and trials draw by place
		ones, runs = append(ones, tailstat.Run{Round: i + 1, Throughput: 1}), append(runs, tailstat.Run{Round: i + 1, Throughput: x})
	}
	of := tailstat.Figure{Name: "x", Of: func(r *tailstat.Run) (float64, error) { return r.Throughput, nil }}
	c, err := tailstat.Compare(ones, runs, tailstat.Options{Figures: []tailstat.Figure{of}, Confidence: confidence})
	if err != nil {
		return 0
	}
	ratio, _ := c.Result[0].Detectable()
	return ratio
}

// CheckSave returns why results cannot go to dir, before they are measured: dir is in a git work tree
// that differs from its commit, which nobody else can check out. "" keeps no results.
func CheckSave(dir string) error {
	for at := dir; at != ""; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err != nil && at != filepath.Dir(at) {
			continue // Save makes it
		}
		out, err := exec.Command("git", "-C", at, "describe", "--always", "--dirty", "--abbrev=12").Output()
		if err != nil || !strings.Contains(string(out), "-dirty") {
			return nil // dir is in no work tree, or nothing has changed there
		}
		return fmt.Errorf("no results go to %s: the work tree differs from its commit (%s): commit the changes first, or keep the results elsewhere with -results",
			dir, strings.TrimSpace(string(out)))
	}
	return nil
}

// Save writes the set to dir/BENCHMARK-DATE-TIME.json and says so. It makes dir where it is missing:
// what was measured for an hour is not lost by that. It refuses what CheckSave does.
func (s *Set) Save(dir string) error {
	if err := CheckSave(dir); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, s.Benchmark+"-"+s.Started.Format("2006-01-02-1504")+".json")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(name, append(b, '\n'), 0o644)); err != nil {
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
