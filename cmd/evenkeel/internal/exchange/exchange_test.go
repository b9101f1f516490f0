package exchange

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

var update = flag.Bool("update", false, "rewrite golden files")

// file reads a file of testdata.
func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t testing.TB, name string, o Options) *runfile.File {
	t.Helper()
	f, err := Read(bytes.NewReader(file(t, name)), o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	check(t, f)
	return f
}

// check holds what any file that was read must be: it can be written and read again, and nothing in
// it is out of order.
func check(t testing.TB, f *runfile.File) {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := runfile.Read(&b); err != nil {
		t.Fatalf("it cannot be read again: %v", err)
	}
	for _, r := range f.Runs {
		l := r.Load
		if l.Answered < 0 || l.Failed < 0 || l.Bytes < 0 || l.Connections < 0 || l.Latency.Count() < 0 ||
			r.Repeat < 1 || r.Import == "" || len(r.Notes) == 0 {
			t.Errorf("%+v of %+v", l, r)
		}
		for q, last := 0., time.Duration(0); q <= 1; q += 1. / 64 {
			if d := l.Latency.Quantile(q); d < last {
				t.Errorf("quantile %v is %v, and the one below it %v", q, d, last)
			} else {
				last = d
			}
		}
	}
}

// near compares within a histogram's precision.
func near(t testing.TB, what string, got, want time.Duration) {
	t.Helper()
	if math.Abs(float64(got-want)) > max(.0011*float64(want), 600) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestGolden holds each tool's file to what was read of it the last time that somebody looked.
func TestGolden(t *testing.T) {
	for _, name := range []string{
		"vegeta.gob", "hdr-go.hlog",
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, name, Options{})
			var got bytes.Buffer
			for _, r := range f.Runs {
				h := &r.Load.Latency // as figures: how it is compressed is up to the Go release
				fmt.Fprintf(&got, "%d in the histogram, mean %v, p50 %v, p90 %v, p99 %v, max %v\n", h.Count(), h.Mean(),
					h.Quantile(.5), h.Quantile(.9), h.Quantile(.99), h.Max())
				r.Load.Latency = loadgen.Histogram{}
				for i := range r.Load.Series.Points {
					r.Load.Series.Points[i].Histogram = ""
				}
				got.WriteString(text(t, r) + "\n")
			}
			golden := filepath.Join("testdata", "read", name+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v (go test -update writes it)", err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("%s (go test -update rewrites it): -want +got\n%s", golden, d)
			}
		})
	}
}

// TestVegeta holds the two forms of vegeta's results to each other, and to what vegeta's own
// report says of them.
func TestVegeta(t *testing.T) {
	var runs []runfile.Run
	for _, name := range []string{"vegeta.gob", "vegeta.ndjson"} {
		runs = append(runs, read(t, name, Options{}).Runs[0])
	}
	for _, r := range runs[1:] {
		if d := cmp.Diff(text(t, runs[0]), text(t, r)); d != "" {
			t.Error(d)
		}
	}
	var report struct {
		Latencies struct{ Max time.Duration }
		BytesIn   struct{ Total int64 } `json:"bytes_in"`
		Earliest  time.Time
		End       time.Time
		Requests  int64
		Codes     map[int]int64 `json:"status_codes"`
	}
	if err := json.Unmarshal(file(t, "vegeta-report.json"), &report); err != nil {
		t.Fatal(err)
	}
	l := runs[0].Load
	if l.Requests() != report.Requests || l.Bytes != report.BytesIn.Total || !l.Started.Equal(report.Earliest) ||
		l.Duration != report.End.Sub(report.Earliest) {
		t.Errorf("%+v, and vegeta reports %+v", l, report)
	}
	if l.Failed != report.Codes[0] || l.Statuses[200] != report.Codes[200] || l.Failed == 0 || len(l.Failures) != 2 {
		t.Errorf("%d failed, statuses %v; vegeta reports %v", l.Failed, l.Statuses, report.Codes)
	}
	near(t, "maximum", l.Latency.Max(), report.Latencies.Max)
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHlogAsTheLibrary holds what is read of a log to what HdrHistogram's own reader has.
func TestHlogAsTheLibrary(t *testing.T) {
	sums := map[string]*hdr.Histogram{}
	reader := hdr.NewHistogramLogReader(bytes.NewReader(file(t, "hdr-go.hlog")))
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if sums[h.Tag()] == nil {
			sums[h.Tag()] = hdr.New(1, int64(time.Minute), 3)
		}
		sums[h.Tag()].Merge(h)
	}
	f := read(t, "hdr-go.hlog", Options{Label: "all"})
	if len(f.Runs) != 2 || f.Runs[0].Label != "all" || f.Runs[1].Label != "reads" {
		t.Fatalf("%d runs", len(f.Runs))
	}
	for i, tag := range []string{"", "reads"} {
		l := f.Runs[i].Load
		if l.Latency.Count() != sums[tag].TotalCount() || l.Duration != 3*time.Second ||
			!l.Started.Equal(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)) {
			t.Errorf("%q: %d of %d, %v from %v", tag, l.Latency.Count(), sums[tag].TotalCount(), l.Duration, l.Started)
		}
		for _, q := range []float64{.1, .5, .9, .99, .999, 1} {
			near(t, fmt.Sprint(tag, " ", q), l.Latency.Quantile(q), time.Duration(sums[tag].ValueAtQuantile(100*q)))
		}
	}
}

// TestHlogOfJava reads the logs that HdrHistogram's Go library has of the Java one, from the module
// cache.
func TestHlogOfJava(t *testing.T) {
	dir := hdrModule(t)
	for name, want := range map[string]string{
		"jHiccup-2.0.7S.logV2.hlog": "",
		"tagged-Log.logV2.hlog":     "",
		"jHiccup-2.0.6.logV1.hlog":  "HdrHistogram before 2.1.4",
		"jHiccup-2.0.1.logV0.hlog":  "HdrHistogram before 2.1.4",
	} {
		b, err := os.ReadFile(filepath.Join(dir, "test", name))
		if err != nil {
			t.Skipf("the module cache has no test data of HdrHistogram's: %v", err)
		}
		f, err := Read(bytes.NewReader(b), Options{})
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			check(t, f)
			if l := f.Runs[0].Load; l.Started.Year() != 2015 ||
				l.Latency.Max().Round(time.Millisecond) < time.Millisecond {
				t.Errorf("%s: from %v, up to %v", name, l.Started, l.Latency.Max())
			}
		}
	}
}

// measured is a run of evenkeel's own.
func measured() *runfile.File {
	l := &loadgen.Result{
		Started: time.UnixMilli(1_700_000_000_250).UTC(), Duration: 2 * time.Second, Answered: 3000,
		Rate: 1500, Targets: []string{"GET http://x/"},
	}
	for i := range time.Duration(3000) {
		l.Latency.Record(i * i * 700)
	}
	return &runfile.File{
		Version: runfile.Version, Tool: "evenkeel",
		Runs: []runfile.Run{{Label: `a "b"`, Repeat: 1, Load: l}},
	}
}

func write(t testing.TB, f *runfile.File, format Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, &f.Runs[0], format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRoundTrip reads again what was written.
func TestRoundTrip(t *testing.T) {
	f := measured()
	was := f.Runs[0].Load
	log := write(t, f, FormatHlog)
	back, err := Read(strings.NewReader(log), Options{})
	if err != nil {
		t.Fatal(err)
	}
	is := back.Runs[0].Load
	if d := cmp.Diff(text(t, was.Latency), text(t, is.Latency)); d != "" || !is.Started.Equal(was.Started) ||
		is.Duration != was.Duration || is.Answered != was.Answered {
		t.Errorf("it is not the same: %d in %v from %v\n%s", is.Answered, is.Duration, is.Started, d)
	}
	h, err := hdr.NewHistogramLogReader(strings.NewReader(log)).NextIntervalHistogram()
	if err != nil || h.TotalCount() != 3000 || h.StartTimeMs() != 1_700_000_000_250 ||
		h.EndTimeMs() != 1_700_000_002_250 {
		t.Errorf("HdrHistogram's own reader has %v, %v", h, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	f := measured()
	if err := Write(io.Discard, f, &f.Runs[0], "wrk2"); err == nil ||
		!strings.Contains(err.Error(), "cannot be written; these can: run, hlog") {
		t.Error(err)
	}
	f.Runs[0].Load.Latency = loadgen.Histogram{}
	if err := Write(io.Discard, f, &f.Runs[0], FormatHlog); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Error(err)
	}
}
