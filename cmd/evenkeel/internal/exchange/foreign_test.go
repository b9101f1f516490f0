package exchange

import (
	"bytes"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/loadgen"
)

const (
	heyCSV = heyHeader + "\n" +
		"0.0021,0.0004,0.0000,0.0000,0.0016,0.0001,200,0.0003\n" +
		"0.0080,0.0000,0.0000,0.0000,0.0079,0.0001,503,0.0500\n" +
		"0.0010,0.0000,0.0000,0.0000,0.0009,0.0001,200,0.0020\n"
	k6Lines = `{"type":"Metric","data":{"name":"http_req_duration","type":"trend","contains":"time"},` +
		`"metric":"http_req_duration"}` + "\n" +
		`{"metric":"http_reqs","type":"Point","data":{"time":"2026-11-22T10:00:00.1Z","value":1,` +
		`"tags":{"status":"200"}}}` + "\n" +
		`{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-22T10:00:00.1Z","value":20.5,` +
		`"tags":{"status":"200","method":"GET","url":"http://x/"}}}` + "\n" +
		`{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-22T10:00:02Z","value":1000,` +
		`"tags":{"status":"404","method":"GET","url":"http://x/"}}}` + "\n" +
		`{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-22T10:00:02Z","value":0,` +
		`"tags":{"status":"0","error":"dial: connection refused","method":"GET","url":"http://x/"}}}` + "\n"
	hgrmCSV = `"Value","Percentile","TotalCount","1/(1-Percentile)"` + "\n" +
		"0.121,0.500000000000,500,2.00\n0.300,0.990000000000,990,100.00\n9.000,1.000000000000,1000,Infinity\n"
	hgrmPython = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n" +
		"       0.121 0.500000000000        500           2.00\n       9.000 1.000000000000       1000\n" +
		"#[Mean    =        0.300, StdDeviation   =        0.100]\n#[Max     =        9.000, TotalCount     =        " +
		" 1000]\n#[Buckets =           27, SubBuckets     =         2048]\n"
	wrkText = "Running 2s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n  Thread Stats   Avg      " +
		"Stdev     Max   +/- Stdev\n" +
		"    Latency     1.00ms  100.00us   9.00ms   90.00%\n  Latency Distribution\n     50%    1.00ms\n     75%    " +
		"1.20ms\n     90%    2.00ms\n     99%    3.00ms\n" +
		"  1000 requests in 2.00s, 1.20MB read\nRequests/sec:    500.00\n"
)

// TestForeign reads what other tools write, each by its contents alone.
func TestForeign(t *testing.T) {
	for _, tt := range []struct {
		name, text       string
		o                Options
		format           string
		rate             float64
		connections      int
		answered, failed int64
		took             time.Duration
		p50, max         time.Duration
		exact            bool
	}{
		{
			"hey's CSV", heyCSV,
			Options{},
			"hey", 0, 0, 3, 0, 58 * time.Millisecond, 2100 * time.Microsecond,
			8 * time.Millisecond, true,
		},
		{
			"k6's points", k6Lines,
			Options{},
			"k6", 0, 0, 2, 1, 1920500 * time.Microsecond, 20500 * time.Microsecond,
			time.Second, true,
		},
		{
			"k6's points, of a rate", k6Lines,
			Options{Rate: 2},
			"k6", 2, 0, 2, 1, 1920500 * time.Microsecond,
			20500 * time.Microsecond, time.Second, true,
		},
		{"vegeta's results", string(file(t, "vegeta.gob")), Options{}, "vegeta", 100, 0, 32, 8, 578081876, 0, 0, true},
		{
			"CSV of a .hgrm", hgrmCSV,
			Options{},
			"hgrm", 0, 0, 1000, 0, 0, 121 * time.Microsecond, 9 * time.Millisecond,
			false,
		},
		{
			"a .hgrm of Python", hgrmPython,
			Options{},
			"hgrm", 0, 0, 1000, 0, 0, 121 * time.Microsecond,
			9 * time.Millisecond, false,
		},
		{"wrk", wrkText, Options{}, "wrk", 0, 10, 1000, 0, 2 * time.Second, time.Millisecond, 0, false},
		{
			"a list", "# latencies\n1.5ms\n200us\n\n0.25s\n",
			Options{},
			"list", 0, 0, 3, 0, 0, 1500 * time.Microsecond,
			250 * time.Millisecond, true,
		},
		{
			"a list of numbers", "1.5\r\n.2\r\n250\r\n",
			Options{Unit: time.Millisecond},
			"list", 0, 0, 3, 0, 0,
			1500 * time.Microsecond, 250 * time.Millisecond, true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(tt.text), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			check(t, f)
			r := f.Runs[0]
			l := r.Load
			if r.Import.Format != tt.format || r.Label != tt.format || r.Import.Exact != tt.exact {
				t.Errorf("%s, %+v", r.Label, r.Import)
			}
			if l.Answered != tt.answered || l.Failed != tt.failed || (l.Duration-tt.took).Abs() > time.Microsecond {
				t.Errorf("%d answered, %d failed in %v", l.Answered, l.Failed, l.Duration)
			}
			if math.Round(l.Rate) != tt.rate || l.Connections != tt.connections {
				t.Errorf("%v requests/s, %d connections", l.Rate, l.Connections)
			}
			if tt.p50 > 0 {
				near(t, "p50", l.Latency.Quantile(.5), tt.p50)
			}
			if tt.max > 0 {
				near(t, "max", l.Latency.Max(), tt.max)
			} else if tt.format == "wrk" && (r.Knows(1) || r.KnowsAll()) {
				t.Error("it knows more than wrk says")
			}
		})
	}
	if f, err := Read(strings.NewReader(k6Lines), Options{}); err != nil ||
		f.Runs[0].Load.FailedBy(loadgen.ClassRefused) != 1 {
		t.Errorf("k6's refused connection: %v, %+v", err, f)
	}
}

// TestForeignBad names what is wrong, and what to do.
func TestForeignBad(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"hey with a rate", heyCSV, Options{Rate: 5}, "hey is a closed loop"},
		{"hey cut off", heyCSV[:len(heyCSV)-4], Options{}, "it was cut off or changed: write it again with hey -o csv"},
		{"hey changed", strings.Replace(heyCSV, "0.0080", "-1", 1), Options{}, "line 3: -1 s with status 503"},
		{"k6 cut off", k6Lines[:len(k6Lines)-40], Options{}, "write it again with k6 run --out json=FILE"},
		{"k6 changed", strings.Replace(k6Lines, "20.5", "-1", 1), Options{}, "-1 ms with status"},
		{"CSV of a .hgrm cut off", hgrmCSV[:strings.Index(hgrmCSV, "9.000")], Options{}, "it was cut off"},
		{"wrk with a rate", wrkText, Options{Rate: 5}, "it is of wrk, which is a closed loop"},
		{"a list without a unit", "1.5\n2\n", Options{}, "line 1: a number without its unit: say it with -unit"},
		{"a list with text", "1.5ms\nfast\n", Options{Format: FormatList}, `line 2: "fast" is not a latency`},
	} {
		_, err := Read(strings.NewReader(tt.text), tt.o)
		if err == nil || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// hdrModule is the folder of HdrHistogram's Go library, with its test data.
func hdrModule(t *testing.T) string {
	t.Helper()
	testutil.Slow(t, "runs the go command")
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/HdrHistogram/hdrhistogram-go").Output()
	if err != nil {
		t.Skipf("needs the go command to find the module's folder: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// TestBadInput holds that what is wrong is named, and what to do.
func TestBadInput(t *testing.T) {
	const hgrm = " Value Percentile TotalCount 1/(1-Percentile)\n"
	const hlog = "#[Histogram log format version 1.3]\n"
	const k6 = `{"metrics":{"http_reqs":{"count":10},"http_req_duration":`
	first := func(name string, n int) string { return string(file(t, name)[:n]) }
	for _, tt := range []struct {
		name   string
		format Format
		text   string
		want   string
	}{
		{"empty", "", "", "its format is not known here (run, hgrm, hlog, wrk2, k6, vegeta, hey, " +
			"list): say with -from"},
		{"of something else", "", "hello\n", "say with -from"},
		{"other JSON", "", `{"x":1}`, "say with -from"},
		{"no such format", "xml", "<x/>", `format "xml" cannot be read; these can: run`},

		{
			"hgrm cut off", "", first("hdr-go.hgrm", strings.Index(string(file(t, "hdr-go.hgrm")), "#[Max")),
			"ends before its footer",
		},
		{
			"hgrm cut off in a line", "", hgrm + "1.0 0.5\n",
			"hgrm: line 2: 2 columns in place of 3 or 4: the line was cut off",
		},
		{"hgrm without requests", "", hgrm + "#[Max = 0, Total count = 0]\n", "no request in it: measure again"},
		{"hgrm negative", "", hgrm + "-1.0 0.5 1\n", "write a value of 0 or more"},
		{"hgrm NaN", "", hgrm + "NaN 0.5 1\n", "write a value of 0 or more"},
		{"hgrm endless", "", hgrm + "1 +Inf 1\n", "a percentile from 0 to 1"},
		{"hgrm falls", "", hgrm + "2.0 0.5 1\n1.0 0.6 2\n", "falls below the line before it"},
		{
			"hgrm footer", "", hgrm + "2.0 1.0 5\n#[Max = 2.0, Total count = 6]\n",
			"the footer counts 6, and the lines 5",
		},
		{"two tables", "", hgrm + "2.0 1.0 5\n" + hgrm, "line 3: a second table"},
		{"hgrm then text", "", hgrm + "hello\n", "line 2: 1 columns"},

		{
			"hlog of another version", "", "#[Histogram log format version 2.0]\n",
			"line 1: version 2.0 of the log format; 1.0 to 1.3 are read here",
		},
		{"hlog of a newer version", "", "#[Histogram log format version 1.4]\n", "version 1.4"},
		{"hlog without intervals", "", hlog, "no interval in it"},
		{"hlog cut off", "", first("hdr-go.hlog", 500), "make the file again"},
		{"hlog histogram", "", hlog + "0,1,2,HISTAAAA\n", "line 2: its histogram cannot be read"},
		{"hlog negative length", "", hlog + "0,-1,2,HISTAAAA\n", "an interval from 0 s, -1 s long"},
		{"hlog start", FormatHlog, "#[StartTime: 1e99 (seconds since epoch)]\n", "StartTime is 1e99: write seconds"},

		{"wrk2 cut off", "", first("wrk2.txt", 1500), "ends before the line of all requests"},
		{
			"wrk2 without -L", "", "Running 1s test @ http://x/\n  5 requests in 1.00s, 1.00KB read\n",
			"run wrk2 with -L",
		},
		{
			"wrk2 twice", "", string(file(t, "wrk2.txt")) + string(file(t, "wrk2.txt")),
			"a second table begins: give each as a file",
		},
		{"wrk2 over 100%", "", "Running 1s test @ http://x/\n 101.0% 1.00ms\n", "is not a percentile"},

		{"k6 cut off", "", first("k6-export.json", 400), "cut off: write it again with k6 run --summary-export"},
		{"k6 without HTTP", "", `{"metrics":{}}`, "no metric http_req_duration"},
		{"k6 without requests", "", `{"metrics":{"http_req_duration":{"max":1}}}`, "no request was sent"},
		{"k6 negative", "", k6 + `{"max":-1}}}`, "max is -1 ms"},
		{
			"k6 negative count", "", `{"metrics":{"http_reqs":{"count":-10},"http_req_duration":{"max":1}}}`,
			"count is -10: a count was expected",
		},
		{"k6 without percentiles", "", k6 + `{"avg":1}}}`, "give k6 --summary-trend-stats"},
		{"k6 falls", "", k6 + `{"p(90)":5,"p(99)":4}}}`, "percentile 99 is 4ms, below percentile 90 with 5ms"},
		{"k6 text", "", k6 + `{"max":"x"}}}`, "a number was expected"},
		{"k6 over 100%", "", k6 + `{"p(101)":1}}}`, "which is not a percentile"},

		{"vegeta cut off", "", first("vegeta.gob", 3000), "it was cut off: copy the file again"},
		{"vegeta JSON cut off", "", first("vegeta.ndjson", 1000), "it was cut off"},
		{"vegeta CSV cut off", "", first("vegeta.csv", 500), "it was cut off"},
		{"vegeta CSV of few columns", FormatVegeta, "1789000000000000000,200,5\n", "it was cut off"},
		{
			"vegeta negative", "", `{"attack":"","code":200,"timestamp":"2026-01-01T00:00:00Z","latency":-5}`,
			"a latency of -5ns",
		},
		{"vegeta status", "", `{"attack":"","code":7,"timestamp":"2026-01-01T00:00:00Z","latency":5}`, "status 7"},
		{"vegeta time", "", `{"attack":"","code":200,"latency":5}`, "the file was changed, or is not this one's"},
		{"no gob", "", "\x07\x00\x01\x02hello", "vegeta: result 1"},

		{"run.json of another version", "", `{"tool":"x","version":99,"runs":[]}`, "newer than this evenkeel reads"},
		{"run.json without runs", "", `{"tool":"x","version":1,"runs":[]}`, "no runs in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(tt.text), Options{Format: tt.format})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v (%+v), want %q", err, f, tt.want)
			}
		})
	}
}

// fuzzed reads anything as one format: what is taken holds together, can be written in each format,
// and a log of it is it.
func fuzzed(f *testing.F, format Format, files ...string) {
	for _, name := range files {
		b := file(f, name)
		f.Add(b)
		f.Add(b[:len(b)*2/3])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(bytes.NewReader(text), Options{Format: format})
		if err != nil {
			return
		}
		check(t, got)
		for i := range got.Runs {
			run := &got.Runs[i]
			if run.Load.Latency.Count() == 0 {
				continue
			}
			for _, to := range writableFormats() {
				var b bytes.Buffer
				if err := Write(&b, got, run, to); err != nil {
					t.Fatalf("%s: %v", to, err)
				}
				if to != FormatHlog {
					continue
				}
				back, err := Read(&b, Options{})
				if err != nil {
					t.Fatalf("what was written cannot be read: %v", err)
				}
				if n, want := back.Runs[0].Load.Latency.Count(), run.Load.Latency.Count(); n != want {
					t.Errorf("%d of %d came back", n, want)
				}
			}
			if i > 10 {
				break // as good as all
			}
		}
		if len(got.Runs) > 1 || !got.Runs[0].Import.Exact || got.Runs[0].Load.Requests() == 0 {
			return
		}
		if _, err := runfile.Merge([]*runfile.File{got, got}, []string{"a", "b"}, runfile.MergeOptions{}); err == nil {
			t.Error(fmt.Sprint("the same run was added to itself: ", got.Runs[0]))
		}
	})
}

// texts adds a fuzz target's first inputs, whole and cut.
func texts(f *testing.F, list ...string) *testing.F {
	for _, text := range list {
		f.Add([]byte(text))
		f.Add([]byte(text[:len(text)*2/3]))
	}
	return f
}

func FuzzHgrm(f *testing.F) { fuzzed(texts(f, hgrmCSV, hgrmPython), FormatHgrm, "hdr-go.hgrm") }
func FuzzHlog(f *testing.F) { fuzzed(f, FormatHlog, "hdr-go.hlog") }
func FuzzWrk2(f *testing.F) {
	fuzzed(texts(f, wrkText), FormatWrk2, "wrk2.txt", "wrk2-uncorrected.txt")
}

func FuzzK6(f *testing.F)   { fuzzed(texts(f, k6Lines), FormatK6, "k6-export.json", "k6-summary.json") }
func FuzzHey(f *testing.F)  { fuzzed(texts(f, heyCSV), FormatHey) }
func FuzzList(f *testing.F) { fuzzed(texts(f, "1.5ms\n# x\n200us\n0.25s\n1h\n"), FormatList) }
func FuzzVegeta(f *testing.F) {
	fuzzed(f, FormatVegeta, "vegeta.gob", "vegeta.ndjson", "vegeta.csv", "vegeta-report.json")
}
