package exchange

import (
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

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
