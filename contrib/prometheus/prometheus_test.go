package prometheus

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenkeel.dev/aio"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/httpd"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

// scrape returns what collectors say, in the format OpenMetrics.
func scrape(t *testing.T, list ...prom.Collector) string {
	t.Helper()
	registry := prom.NewPedanticRegistry() // samples go with descriptions
	registry.MustRegister(list...)
	q := httptest.NewRequest("GET", "/metrics", nil)
	q.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true}).ServeHTTP(w, q)
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func recorderOf(t *testing.T, s recorder.Stats, o Options) *Recorder {
	t.Helper()
	c, err := newRecorder(func() recorder.Stats { return s }, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// names returns those of a collector's metrics.
func names(c prom.Collector) map[string]bool {
	to := make(chan *prom.Desc, 100)
	c.Describe(to)
	close(to)
	list := map[string]bool{}
	for d := range to {
		list[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return list
}

func allNames(t *testing.T) map[string]bool {
	list := names(gateCollector{})
	maps.Copy(list, names(recorderOf(t, recorder.Stats{}, Options{})))
	maps.Copy(list, names(watcherCollector{}))
	maps.Copy(list, names(serverCollector{}))
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocHasAllNames: doc.go lists what there is, and nothing else.
func TestDocHasAllNames(t *testing.T) {
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(evenkeel_[a-z_]+)`).FindAllStringSubmatch(read(t, "doc.go"), -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(listed)
	if is := slices.Sorted(maps.Keys(allNames(t))); !slices.Equal(listed, is) {
		t.Errorf("doc.go lists\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(is, "\n"))
	}
}

// fill sets each leaf below v to something that it is not, one after the other, and calls f in between.
func fill(v reflect.Value, path string, f func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	defer v.Set(old)
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
			f(path)
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
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
	case reflect.String:
		v.SetString("words")
		f(path)
	case reflect.Bool:
		v.SetBool(true)
		f(path)
	case reflect.Float64:
		v.SetFloat(7)
		f(path)
	case reflect.Int, reflect.Int64:
		v.SetInt(7e6)
		f(path)
	default:
		v.SetUint(7)
		f(path)
	}
}

// TestAllFiguresCount: each field of the statistics changes what is scraped, the ones included that a later change adds.
func TestAllFiguresCount(t *testing.T) {
	words := []string{".Why", ".LastFailure", ".Turn.HeldUpBy"} // no figures; why it is off is on the page
	gate := gcgate.Stats{Turn: gcgate.TurnStats{Turns: 1}}
	rec := recorder.Stats{}
	watcher, server := aio.Stats{}, httpd.Stats{}
	for _, of := range []struct {
		stats reflect.Value
		c     prom.Collector
	}{
		{reflect.ValueOf(&gate).Elem(), gateCollector{func() gcgate.Stats { return gate }}},
		{reflect.ValueOf(&watcher).Elem(), watcherCollector{func() aio.Stats { return watcher }}},
		{reflect.ValueOf(&server).Elem(), serverCollector{func() httpd.Stats { return server }}},
		{reflect.ValueOf(&rec).Elem(), &Recorder{stats: func() recorder.Stats { return rec }}},
	} {
		before, seen := scrape(t, of.c), 0
		fill(of.stats, "", func(path string) {
			seen++
			if !slices.Contains(words, path) && scrape(t, of.c) == before {
				t.Errorf("%v%s is not exported", of.stats.Type(), path)
			}
		})
		if seen < 14 {
			t.Errorf("%v has %d fields", of.stats.Type(), seen)
		}
	}
}

// TestGateValues: labels, units, and what is not known.
func TestGateValues(t *testing.T) {
	s := gcgate.Stats{
		Policy: gcgate.PolicyDrain, State: gcgate.StateDraining, Entered: 1000, Overlapped: 3, OverlappedOther: 4,
		Collections: map[gcgate.Reason]uint64{gcgate.ReasonIdleGap: 5},
		Phases:      map[gcgate.State]gcgate.Duration{gcgate.StateDraining: {Count: 2, Total: 30 * time.Millisecond, Max: 20 * time.Millisecond}},
		Limit:       math.MaxInt64,
		Turn:        gcgate.TurnStats{Turns: 1, Load: 0.25, Held: gcgate.Duration{Count: 2, Total: time.Second, Max: time.Second}},
	}
	text := scrape(t, gateCollector{func() gcgate.Stats { return s }})
	for _, line := range []string{
		`evenkeel_gate_policy_info{policy="drain"} 1.0`,
		`evenkeel_gate_state{state="draining"} 1.0`,
		`evenkeel_gate_state{state="serving"} 0.0`,
		`evenkeel_gate_requests_total 1000.0`,
		`evenkeel_gate_overlapped_requests_total{collection="gate"} 3.0`,
		`evenkeel_gate_overlapped_requests_total{collection="other"} 4.0`,
		`evenkeel_gate_collections_total{reason="idle gap"} 5.0`,
		`evenkeel_gate_collections_total{reason="hard"} 0.0`,
		`evenkeel_gate_phase_seconds_sum{state="draining"} 0.03`,
		`evenkeel_gate_phase_seconds_count{state="draining"} 2`,
		`evenkeel_gate_phase_max_seconds{state="draining"} 0.02`,
		`evenkeel_gate_turn_held_seconds_sum 1.0`,
		`evenkeel_gate_turn_load_ratio 0.25`,
		`# TYPE evenkeel_gate_collections counter`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	for _, name := range []string{"memory_limit_bytes", "next_collection", "turn_spare", "replicas", "collection_expected"} {
		if strings.Contains(text, "\nevenkeel_gate_"+name) {
			t.Errorf("%s has a sample, but is not known", name)
		}
	}
}

// TestNoGate: where a gate could not start there is a collector without samples, and the other ones are scraped.
func TestNoGate(t *testing.T) {
	text := scrape(t, NewGate(nil), watcherCollector{func() aio.Stats { return aio.Stats{} }})
	if strings.Contains(text, "evenkeel_gate") || !strings.Contains(text, "evenkeel_aio_connections 0.0\n") {
		t.Error(text)
	}
}

func slowRequest(class string, second int64, lost time.Duration) recorder.Explained {
	return recorder.Explained{Request: history.Request{
		Key: history.Key{Cause: reqtrace.CauseLock, Class: class}, Start: time.Unix(second, 0), Duration: 2 * lost, Lost: lost,
		Snapshot: fmt.Sprintf("snap%d", second), TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
	}}
}

// TestSlowRequests: sums by cause and class, with the last request of each as the exemplar.
func TestSlowRequests(t *testing.T) {
	c := recorderOf(t, recorder.Stats{}, Options{})
	first := slowRequest("GET /a", 100, 50*time.Millisecond)
	first.New = true
	c.add(first)
	c.add(slowRequest("GET /a", 300, 250*time.Millisecond))
	c.add(slowRequest("GET /a", 200, 200*time.Millisecond)) // told late
	c.add(slowRequest("bad\xff", 100, time.Millisecond))
	without := slowRequest("GET /b", 100, time.Second)
	without.Snapshot, without.TraceID = strings.Repeat("s", 200), ""
	c.add(without)
	// The labels of an exemplar have no order.
	text := regexp.MustCompile(`\{(trace_id="\w+"),(snapshot="\w+")\}`).ReplaceAllString(scrape(t, c), "{$2,$1}")
	for _, line := range []string{
		`evenkeel_recorder_explained_requests_total{cause="lock",class="GET /a"} 3.0 # {snapshot="snap300",trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 0.5 300.5`,
		`evenkeel_recorder_lost_seconds_total{cause="lock",class="GET /a"} 0.5 # {snapshot="snap300",trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 0.25 300.5`,
		`evenkeel_recorder_lost_seconds_total{cause="lock",class="GET /b"} 1.0`,
		`evenkeel_recorder_new_causes_total 1.0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	if !strings.Contains(text, "class=\"bad\uFFFD\"") {
		t.Errorf("a class that is no UTF-8:\n%s", text)
	}
}

// TestClassesAreBounded: the first classes have samples of their own, the others share one.
func TestClassesAreBounded(t *testing.T) {
	c := recorderOf(t, recorder.Stats{}, Options{MaxClasses: 2})
	for i := range 100 {
		c.add(slowRequest(fmt.Sprint("class ", i), int64(i), time.Millisecond))
	}
	c.add(slowRequest("class 1", 1000, time.Millisecond))
	text := scrape(t, c)
	if n := strings.Count(text, "\nevenkeel_recorder_explained_requests_total{"); n != 3 {
		t.Errorf("%d samples", n)
	}
	for _, line := range []string{`class="(others)"} 98.0 #`, `class="class 0"} 1.0 #`, `class="class 1"} 2.0 #`} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	for _, n := range []int{-1, limitMaxClasses + 1} {
		var bad *OptionError
		if _, err := NewRecorder(nil, Options{MaxClasses: n}); !errors.As(err, &bad) || bad.Option != "MaxClasses" {
			t.Errorf("MaxClasses %d: %v", n, err)
		}
	}
}
