package figures

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/tailstat"
)

// readResults reads a file of raw results: JSON, as a benchmark's driver or evenkeel has written it.
func readResults(tree fs.FS, name string) (results any, err error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, fmt.Errorf("there is no %s", name)
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return results, nil
}

// revision returns the commit that was measured. A benchmark's driver writes it to versions/revision,
// and evenkeel to tool, as the go command stamps programs.
func revision(results any) (string, error) {
	r, err := at(results, "versions/revision")
	if err != nil {
		r, _ = at(results, "tool")
	}
	text, _ := r.(string)
	m := commit.FindStringSubmatch(text)
	switch {
	case strings.Contains(text, "dirty"):
		return "", fmt.Errorf("the results are of a work tree with changes (%s)", text)
	case m == nil:
		return "", fmt.Errorf("the results do not say which commit was measured (%q)", text)
	}
	return m[1], nil
}

// commit matches what git describe or a pseudo-version ends with.
var commit = regexp.MustCompile(`(?:^|[ g-])([0-9a-f]{12,40})$`)

// run is what of a file of results tells whether it is newer than another one.
type run struct {
	Benchmark, Started string
	Versions           struct{ Revision string }
	Figures            []struct{ Name string }
}

// newer returns a file of bench/results with a later run of the same benchmark, on a clean commit, that
// has the figure at a path figures/N/measured; "": there is none.
func newer(tree fs.FS, results any, path string) string {
	benchmark, _ := at(results, "benchmark")
	started, _ := at(results, "started")
	name, err := at(results, strings.TrimSuffix(fieldOf(path), "measured")+"name")
	if err != nil || benchmark == nil || started == nil {
		return ""
	}
	files, _ := fs.Glob(tree, fmt.Sprintf("bench/results/%s-*.json", benchmark))
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		var r run
		if err != nil || json.Unmarshal(text, &r) != nil || r.Benchmark != benchmark || !commit.MatchString(r.Versions.Revision) {
			continue
		}
		if r.Started > started.(string) && slices.ContainsFunc(r.Figures, func(f struct{ Name string }) bool { return f.Name == name }) {
			return file
		}
	}
	return ""
}

// fieldOf is a path without the unit of its last key.
func fieldOf(path string) string {
	_, path = fieldUnit(path)
	return path
}

// at returns what is at a path of keys and indices, with slashes between them.
func at(results any, path string) (any, error) {
	x := results
	for key := range strings.SplitSeq(path, "/") {
		switch in := x.(type) {
		case map[string]any:
			x = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("no %q in a list of %d", key, len(in))
			}
			x = in[i]
		default:
			x = nil
		}
		if x == nil {
			return nil, fmt.Errorf("the results have no %s", path)
		}
	}
	return x, nil
}

// value is what was measured, in its base unit.
type value struct {
	centre    float64
	low, high float64 // the interval; NaN: none
	rounds    int
}

func (v value) known() bool { return !math.IsNaN(v.low) }

// number returns a number at a path, in the base unit of its last key. Beside a number "measured" its interval may be.
func number(results any, path string) (value, error) {
	factor, path := fieldUnit(path)
	x, err := at(results, path)
	if err != nil {
		return value{}, err
	}
	n, err := mean(x)
	v := value{centre: n * factor, low: math.NaN(), high: math.NaN()}
	if parent, ok := strings.CutSuffix(path, "/measured"); ok && err == nil {
		if low, err := at(results, parent+"/interval/0"); err == nil {
			high, err := at(results, parent+"/interval/1")
			l, okL := low.(float64)
			h, okH := high.(float64)
			if err != nil || !okL || !okH {
				return v, fmt.Errorf("%s/interval is no list of two numbers", parent)
			}
			v.low, v.high = l*factor, h*factor
		}
	}
	return v, err
}

// confidence is that of the intervals by which bench/figure judges.
const confidence = .9

// centreOf returns the median of a number of each round, and where the centre of such numbers lies.
func centreOf(xs []float64) value {
	n := len(xs)
	v := value{centre: (xs[(n-1)/2] + xs[n/2]) / 2, low: math.NaN(), high: math.NaN(), rounds: n} // they are in order
	if xs[0] == xs[n-1] || xs[0] <= 0 {
		return v
	}
	logs := make([]float64, n)
	for i, x := range xs {
		logs[i] = math.Log(x)
	}
	if e, err := tailstat.SignedRank(logs, confidence); err == nil && !math.IsInf(e.High, 1) {
		v.low, v.high = math.Exp(e.Low), math.Exp(e.High)
	}
	return v
}

// median returns the median over the rounds of a field of those entries of a list for which all
// conditions, KEY=VALUE, hold; query has the field first. Of entries of one round the last counts: those
// before it were void. Where entries have no round each is one.
func median(results any, list string, query []string) (value, error) {
	x, err := at(results, list)
	if err != nil {
		return value{}, err
	}
	entries, ok := x.([]any)
	if !ok {
		return value{}, fmt.Errorf("%s is no list", list)
	}
	factor, field := fieldUnit(strings.TrimSpace(query[0]))
	byRound := map[string]float64{}
	for i, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok || !holds(entry, query[1:]) {
			continue
		}
		if entry[field] == nil {
			return value{}, fmt.Errorf("an entry has no field %s", field)
		}
		round := fmt.Sprint("entry ", i)
		if n, ok := entry["round"]; ok {
			round = fmt.Sprint(n)
		}
		n, err := mean(entry[field])
		if err != nil {
			return value{}, err
		}
		byRound[round] = n * factor
	}
	if len(byRound) == 0 {
		return value{}, fmt.Errorf("no entry of %s has %s", list, strings.Join(query[1:], " and "))
	}
	return centreOf(slices.Sorted(maps.Values(byRound))), nil
}

func holds(entry map[string]any, conditions []string) bool {
	return !slices.ContainsFunc(conditions, func(c string) bool {
		key, want, _ := strings.Cut(strings.TrimSpace(c), "=")
		return fmt.Sprint(entry[key]) != want
	})
}

// mean returns a number, or the mean of a list of numbers.
func mean(x any) (float64, error) {
	switch x := x.(type) {
	case float64:
		return x, nil
	case []any:
		sum := 0.0
		for _, e := range x {
			n, err := mean(e)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum / float64(len(x)), nil
	}
	return 0, fmt.Errorf("%v is no number", x)
}

// units are the units of figures, in ns, bytes and ones.
var units = map[string]float64{
	"": 1, "x": 1, "%": .01, "requests/s": 1, "requests a second": 1,
	"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9,
	"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

var inUnit = regexp.MustCompile(`^(.*)\[(.*)\]$`)

// fieldUnit takes the unit off a field: "measured[ms]". Others are in ns, bytes or ones.
func fieldUnit(field string) (factor float64, name string) {
	if m := inUnit.FindStringSubmatch(field); m != nil && units[m[2]] != 0 {
		return units[m[2]], m[1]
	}
	return 1, field
}

// figure is a number with a unit of a result, as it is printed: 8.6 ms, 1,875 ms, 64%, 1.98x.
var figure = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)(?:\s?(ns|µs|ms|s|KiB|MiB|GiB|kB|MB|GB|x|requests/s|requests a second)\b|(%))`)

var bareNumber = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)()()`)

// printedRange returns what may have been rounded to the first figure of a text, or to its first number.
func printedRange(text string) (low, high float64, unit string, ok bool) {
	m := figure.FindStringSubmatch(text)
	if m == nil {
		m = bareNumber.FindStringSubmatch(text)
	}
	if m == nil {
		return 0, 0, "", false
	}
	unit = m[2] + m[3]
	digits := strings.ReplaceAll(m[1], ",", "")
	n, err := strconv.ParseFloat(digits, 64)
	_, decimals, _ := strings.Cut(digits, ".")
	half := math.Pow10(-len(decimals)) * .5000001
	return (n - half) * units[unit], (n + half) * units[unit], unit, err == nil
}
