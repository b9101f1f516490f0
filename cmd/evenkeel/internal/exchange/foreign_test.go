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
	}{
		{
			"hey's CSV", heyCSV,
			Options{},
			"hey", 0, 0, 3, 0, 57700 * time.Microsecond, 2100 * time.Microsecond,
			8 * time.Millisecond,
		},
		{
			"k6's points", k6Lines,
			Options{},
			"k6", 0, 0, 2, 1, 1920500 * time.Microsecond, 20500 * time.Microsecond,
			time.Second,
		},
		{
			"k6's points, of a rate", k6Lines,
			Options{Rate: 2},
			"k6", 2, 0, 2, 1, 1920500 * time.Microsecond,
			20500 * time.Microsecond, time.Second,
		},
		{"vegeta's results", string(file(t, "vegeta.gob")), Options{}, "vegeta", 100, 0, 32, 8, 578081876, 0, 0},
		{
			"a list", "# latencies\n1.5ms\n200us\n\n0.25s\n",
			Options{},
			"list", 0, 0, 3, 0, 0, 1500 * time.Microsecond,
			250 * time.Millisecond,
		},
		{
			"a list of numbers", "1.5\r\n.2\r\n250\r\n",
			Options{Unit: time.Millisecond},
			"list", 0, 0, 3, 0, 0,
			1500 * time.Microsecond, 250 * time.Millisecond,
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
			if r.Import != tt.format || r.Label != tt.format {
				t.Errorf("%s, %s", r.Label, r.Import)
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
		{"hey cut off", heyCSV[:len(heyCSV)-4], Options{}, "it was cut off: write it again with hey -o csv"},
		{"hey changed", strings.Replace(heyCSV, "0.0080", "-1", 1), Options{}, "result 2: -1 s with status 503"},
		{"k6 cut off", k6Lines[:len(k6Lines)-40], Options{}, "write it again with k6 run --out json=FILE"},
		{"k6 changed", strings.Replace(k6Lines, "20.5", "-1", 1), Options{}, "-1 ms with status"},
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
	const hlog = "#[Histogram log format version 1.3]\n"
	first := func(name string, n int) string { return string(file(t, name)[:n]) }
	for _, tt := range []struct {
		name   string
		format Format
		text   string
		want   string
	}{
		{"empty", "", "", "its format is not known here (run, hlog, vegeta, k6, hey, list): " +
			"say with -from"},
		{"of something else", "", "hello\n", "say with -from"},
		{"other JSON", "", `{"x":1}`, "say with -from"},
		{"no such format", "xml", "<x/>", `format "xml" cannot be read; these can: run`},

		{"hlog without intervals", "", hlog, "no interval in it"},
		{"hlog cut off", "", first("hdr-go.hlog", 500), "the log was cut off"},
		{"hlog histogram", "", hlog + "0,1,2,HISTAAAA\n", "interval 1 cannot be read"},
		{"hlog line", "", hlog + "0,1,2,HISTAAAA,\n", "line 2 is not [Tag=NAME,]START,LENGTH,MAXIMUM,HISTOGRAM"},
		{"hlog start", FormatHlog, "#[StartTime: 1.2.3 (seconds since epoch)]\n", "interval 1 cannot be read"},

		{"wrk2", "", "Running 2s test @ http://x/\n", "percentiles alone, as wrk2 prints them, are not read"},
		{"a summary of k6", "", `{"metrics":{"http_reqs":{"count":10}}}`, "percentiles alone"},

		{"vegeta cut off", "", first("vegeta.gob", 3000), "it was cut off: copy the file again"},
		{"vegeta JSON cut off", "", first("vegeta.ndjson", 1000), "it was cut off"},
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

// fuzzed reads anything as one format: what is taken holds together, and a log of
// it is it.
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
			var b bytes.Buffer
			if err := Write(&b, got, run, FormatHlog); err != nil {
				t.Fatal(err)
			}
			back, err := Read(&b, Options{})
			if err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
			if n, want := back.Runs[0].Load.Latency.Count(), run.Load.Latency.Count(); n != want {
				t.Errorf("%d of %d came back", n, want)
			}
			if i > 10 {
				break // as good as all
			}
		}
		if len(got.Runs) > 1 || got.Runs[0].Load.Requests() == 0 {
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

func FuzzHlog(f *testing.F) { fuzzed(f, FormatHlog, "hdr-go.hlog") }
func FuzzK6(f *testing.F)   { fuzzed(texts(f, k6Lines), FormatK6) }
func FuzzHey(f *testing.F)  { fuzzed(texts(f, heyCSV), FormatHey) }
func FuzzList(f *testing.F) { fuzzed(texts(f, "1.5ms\n# x\n200us\n0.25s\n1h\n"), FormatList) }
func FuzzVegeta(f *testing.F) {
	fuzzed(f, FormatVegeta, "vegeta.gob", "vegeta.ndjson", "vegeta-report.json")
}
