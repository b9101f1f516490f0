package verdict

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/reqtrace"

	"evenkeel.dev/internal/golden"
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

func verdictOn(t *testing.T, trace []byte) *Verdict {
	t.Helper()
	r, err := reqtrace.Analyze(t.Context(), bytes.NewReader(trace), reqtrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Of(r)
}

// TestRecordedVerdicts: the verdict on what each Go release has recorded names the planted lock.
func TestRecordedVerdicts(t *testing.T) {
	names, traces := recordedTraces(t)
	golden.Written(t, "recorded.golden.txt", func(b *bytes.Buffer) error {
		for i, name := range names {
			v := verdictOn(t, traces[i])
			if len(v.Causes) == 0 || v.Causes[0].Cause != reqtrace.CauseLock ||
				!strings.HasPrefix(v.Causes[0].Site, "main.(*cache).get (main.go:") {
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

// TestCutOff: the text on a trace that is cut off has a verdict, and says so.
func TestCutOff(t *testing.T) {
	_, traces := recordedTraces(t)
	b := traces[len(traces)-1] // package reqtrace's own test cuts all of them
	v := verdictOn(t, b[:len(b)*3/4])
	var out strings.Builder
	if err := v.WriteText(&out, Options{}); err != nil {
		t.Fatal(err)
	}
	if v.Report().Broken == "" {
		t.Error("the trace is not cut off")
	}
	text := strings.Join(strings.Fields(out.String()), " ") // as it is before it is wrapped
	for _, want := range []string{
		"main.(*cache).get (main.go:",
		"The trace is cut off or corrupt. The report is of the ", v.Report().Broken,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}
