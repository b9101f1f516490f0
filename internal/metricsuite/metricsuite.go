// Package metricsuite has the tests of every exporter of metrics.
package metricsuite

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/recorder"
)

// Samples are the current values by name, with labels in the exporter's form.
type Samples map[string]float64

// Documented tests that docs/reference/metrics.md lists exactly these names for the package.
func Documented(t *testing.T, names []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), ": "+filepath.Base(dir)+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z._]+)").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(listed)
	slices.Sort(names)
	if !slices.Equal(listed, names) {
		t.Errorf("docs/reference/metrics.md lists\n%s\nand there are\n%s", strings.Join(listed, "\n"),
			strings.Join(names, "\n"))
	}
}

// EachField tests that each field of the statistics changes what is exported, except text.
func EachField(t *testing.T, stats any, export func() Samples, leftOut ...string) {
	t.Helper()
	leftOut = append(leftOut, ".Why", ".LastFailure", ".Turn.HeldUpBy")
	before, seen := export(), 0
	of := reflect.ValueOf(stats).Elem()
	fill(of, "", func(path string) {
		seen++
		if !slices.Contains(leftOut, path) && maps.Equal(export(), before) {
			t.Errorf("%v%s is not exported", of.Type(), path)
		}
	})
	if seen < 14 {
		t.Errorf("%v has %d fields", of.Type(), seen)
	}
}

// fill sets each leaf below v to another value in turn, and calls f.
func fill(v reflect.Value, path string, f func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	defer v.Set(old)
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				fill(v.Field(i), path+"."+v.Type().Field(i).Name, f)
			}
			return
		}
		v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 7, 7))
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() == reflect.String {
			key.SetString("a reason")
		} else {
			key.SetUint(1)
		}
		fill(elem, path+"[]", func(path string) {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, elem)
			f(path)
		})
		return
	case reflect.String:
		v.SetString("words")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Int, reflect.Int64:
		v.SetInt(7e6)
	default:
		v.SetUint(7)
	}
	f(path)
}

// GateStats returns statistics with a value of each kind, and some unknown ones.
func GateStats() gcgate.Stats {
	return gcgate.Stats{
		Policy: gcgate.PolicyDrain, State: gcgate.StateDraining,
		Entered: 1000, Overlapped: 3, OverlappedOther: 4,
		Collections: map[gcgate.Reason]uint64{gcgate.ReasonIdleGap: 5},
		Phases: map[gcgate.State]gcgate.Duration{
			gcgate.StateDraining: {Count: 2, Total: 30 * time.Millisecond, Max: 20 * time.Millisecond},
		},
		Limit: math.MaxInt64,
		Turn: gcgate.TurnStats{
			Turns: 1, Load: 0.25, Held: gcgate.Duration{Count: 2, Total: time.Second, Max: time.Second},
		},
	}
}

// Values tests that samples have these values, and none with an unknown prefix.
func Values(t *testing.T, samples, want Samples, unknown ...string) {
	t.Helper()
	for name, value := range want {
		if is, ok := samples[name]; !ok || is != value {
			t.Errorf("%s is %v, %v, want %v", name, is, ok, value)
		}
	}
	for _, prefix := range unknown {
		for name := range samples {
			if strings.HasPrefix(name, prefix) {
				t.Errorf("%s has a sample, but is not known", name)
			}
		}
	}
}

// Slow returns a slow request at a second of 1970.
func Slow(class string, second int64, lost time.Duration) recorder.Explained {
	return recorder.Explained{
		Cause: reqtrace.CauseLock, Class: class,
		Start: time.Unix(second, 0), Duration: 2 * lost, Lost: lost,
		Snapshot: fmt.Sprintf("snap%d", second), TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
	}
}

type Exporter struct {
	Add  func(recorder.Explained)
	Slow func(class string) (requests, lost float64) // of requests that waited for a lock
	New  func() float64
}

// Requests tests the sums by class, for an exporter with room for two classes.
func Requests(t *testing.T, e Exporter) {
	t.Helper()
	first := Slow("GET /a", 100, 50*time.Millisecond)
	first.New = true
	e.Add(first)
	e.Add(Slow("GET /a", 300, 250*time.Millisecond))
	e.Add(Slow("GET /a", 200, 200*time.Millisecond)) // out of order
	e.Add(Slow("bad\xff", 100, time.Second))
	for i := range 98 {
		e.Add(Slow(fmt.Sprint("class ", i), int64(i), 500*time.Millisecond))
	}
	e.Add(Slow("GET /a", 1000, 500*time.Millisecond))
	for class, want := range map[string][2]float64{
		"GET /a": {4, 1}, "bad\uFFFD": {1, 1}, "(others)": {98, 49}, "class 0": {},
	} {
		if requests, lost := e.Slow(class); requests != want[0] || lost != want[1] {
			t.Errorf("%s: %v requests lost %v s, want %v", class, requests, lost, want)
		}
	}
	if n := e.New(); n != 1 {
		t.Errorf("%v new causes, want 1", n)
	}
}
