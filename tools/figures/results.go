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

// number returns a number at a path, in the base unit of its last key.
func number(results any, path string) (float64, error) {
	factor, path := fieldUnit(path)
	x, err := at(results, path)
	if err != nil {
		return 0, err
	}
	n, err := mean(x)
	return n * factor, err
}

// median returns the median over the rounds of a field of those entries of a list for which all
// conditions, KEY=VALUE, hold; query has the field first. Of entries of one round the last counts: those
// before it were void. Where entries have no round each is one.
func median(results any, list string, query []string) (median float64, rounds int, err error) {
	x, err := at(results, list)
	if err != nil {
		return 0, 0, err
	}
	entries, ok := x.([]any)
	if !ok {
		return 0, 0, fmt.Errorf("%s is no list", list)
	}
	factor, field := fieldUnit(strings.TrimSpace(query[0]))
	byRound := map[string]float64{}
	for i, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok || !holds(entry, query[1:]) {
			continue
		}
		if entry[field] == nil {
			return 0, 0, fmt.Errorf("an entry has no field %s", field)
		}
		round := fmt.Sprint("entry ", i)
		if n, ok := entry["round"]; ok {
			round = fmt.Sprint(n)
		}
		n, err := mean(entry[field])
		if err != nil {
			return 0, 0, err
		}
		byRound[round] = n * factor
	}
	n := len(byRound)
	if n == 0 {
		return 0, 0, fmt.Errorf("no entry of %s has %s", list, strings.Join(query[1:], " and "))
	}
	sorted := slices.Sorted(maps.Values(byRound))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, n, nil
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
func printedRange(text string) (low, high float64, ok bool) {
	m := figure.FindStringSubmatch(text)
	if m == nil {
		m = bareNumber.FindStringSubmatch(text)
	}
	if m == nil {
		return 0, 0, false
	}
	digits := strings.ReplaceAll(m[1], ",", "")
	n, err := strconv.ParseFloat(digits, 64)
	_, decimals, _ := strings.Cut(digits, ".")
	half, unit := math.Pow10(-len(decimals))*.5000001, units[m[2]+m[3]]
	return (n - half) * unit, (n + half) * unit, err == nil
}
