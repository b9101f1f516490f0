package report

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/reqtrace"
)

// recordedTraces are of a service with a planted lock, one of each Go release that writes such traces
// (reqtrace/testdata/gen.sh).
func recordedTraces(t *testing.T) (names []string, traces [][]byte) {
	t.Helper()
	names, err := filepath.Glob("../../reqtrace/testdata/*.trace.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("%q, %v", names, err)
	}
	for i, name := range names {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		names[i], traces = strings.TrimSuffix(filepath.Base(name), ".trace.gz"), append(traces, b)
	}
	return names, traces
}

func explained(t *testing.T, name string, trace []byte) *Explanation {
	t.Helper()
	r, err := reqtrace.Analyze(t.Context(), bytes.NewReader(trace), reqtrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewExplanation(name, r)
}

// TestRecordedVerdicts: the verdict on what each Go release has recorded names the planted lock.
func TestRecordedVerdicts(t *testing.T) {
	names, traces := recordedTraces(t)
	golden(t, "recorded.golden.txt", func(b *bytes.Buffer) error {
		for i, name := range names {
			v := explained(t, name, traces[i]).Verdict
			if len(v.Causes) == 0 || v.Causes[0].Cause != reqtrace.CauseLock || !strings.HasPrefix(v.Causes[0].Site, "main.(*cache).get (main.go:") {
				t.Errorf("%s: %+v", name, v.Causes)
			}
			fmt.Fprintf(b, "%s: %s\n", name, v.Sentence)
			for _, c := range v.Caveats {
				fmt.Fprintf(b, "\t%s\n", c)
			}
		}
		return nil
	})
}

// TestCutOff: text, JSON and page of a trace that is cut off have a verdict, and say so.
func TestCutOff(t *testing.T) {
	names, traces := recordedTraces(t)
	for i, b := range traces {
		x := explained(t, names[i], b[:len(b)*3/4])
		for form, write := range map[string]func(io.Writer) error{
			"text": func(w io.Writer) error { return x.Text(w, Style{}) }, "json": x.JSON, "page": x.HTML,
		} {
			var out strings.Builder
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"main.(*cache).get (main.go:", "the trace is cut off or corrupt, and the report is of the ", x.Report.Broken} {
				if !strings.Contains(html.UnescapeString(out.String()), want) {
					t.Errorf("%s: the %s lacks %q", names[i], form, want)
				}
			}
		}
		if x.Report.Broken == "" {
			t.Errorf("%s is not cut off", names[i])
		}
	}
}
