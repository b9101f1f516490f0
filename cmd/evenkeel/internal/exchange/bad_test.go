package exchange

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

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
		{"empty", "", "", "in no format that is known here (run, hgrm, hlog, wrk2, k6, vegeta, hey, " +
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
		{"vegeta time", "", `{"attack":"","code":200,"latency":5}`, "the file was changed, or is another one"},
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
