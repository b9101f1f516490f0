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
	"time"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
)

func TestText(t *testing.T) {
	v := Of(knownReport())
	golden.Written(t, "explain.golden.txt", func(b *bytes.Buffer) error { return v.WriteText(b, Options{}) })
	golden.Written(t, "explain-color.golden.txt",
		func(b *bytes.Buffer) error { return v.WriteText(b, Options{Color: true}) })

	var short strings.Builder
	err := v.WriteText(&short, Options{Rows: 2})
	_, table, _ := strings.Cut(short.String(), "of a request, on average")
	if err != nil || strings.Count(table, "\n") != 3 || !strings.HasPrefix(short.String(), v.Sentence) {
		t.Errorf("the sentences and two rows: %v\n%s", err, short.String())
	}

	cut := Of(&reqtrace.Report{Trace: time.Second, CutEnd: 3, Procs: 1, Marked: true})
	golden.Written(t, "explain-cut.golden.txt", func(b *bytes.Buffer) error { return cut.WriteText(b, Options{}) })
}

func textOf(t *testing.T, r *reqtrace.Report) string {
	t.Helper()
	var b strings.Builder
	if err := Of(r).WriteText(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextFits(t *testing.T) {
	for i, l := range strings.Split(textOf(t, knownReport()), "\n") {
		if n := len([]rune(l)); n > 100 && i > 0 { // the sentence may be longer
			t.Errorf("%d columns: %s", n, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("blanks at the end of %q", l)
		}
	}
}

func TestTextHasNoControlCharacters(t *testing.T) {
	evil := "\x1b[2J\x07evil"
	r := fakeReport(partsOf(times{reqtrace.CauseRunning: 2 * ms}),
		partsOf(times{reqtrace.CauseRunning: 2 * ms, reqtrace.CauseLock: 9 * ms}),
		reqtrace.Blame{Cause: reqtrace.CauseLock, Site: evil, Time: 9 * ms})
	r.Slowest[0].ID, r.Slowest[1].ID, r.Bands[0].Name = evil, evil, evil
	if text := textOf(t, r); strings.ContainsAny(text, "\x1b\x07") || !strings.Contains(text, "evil") {
		t.Errorf("%q", text)
	}
}

// TestGuide: each kind has a row in the guide's table, which says the same of what mends it.
func TestGuide(t *testing.T) {
	b, err := os.ReadFile("../../" + guidePath)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if _, rest, ok := strings.Cut(line, `| <a id="`); ok {
			anchor, row, _ := strings.Cut(rest, `"`)
			rows[anchor] = strings.ReplaceAll(row, "`", "")
		}
	}
	kinds := []kind{syncKind, fileKind, readerKind, libraryKind}
	for _, k := range stopKinds {
		kinds = append(kinds, k)
	}
	for _, k := range kindsByOp {
		kinds = append(kinds, k)
	}
	for _, c := range reqtrace.Causes() {
		if int(c) >= len(kindsByCause) || kindsByCause[c].anchor == "" {
			t.Errorf("%s has no row", c)
			continue
		}
		kinds = append(kinds, kindsByCause[c])
	}
	for _, k := range kinds {
		row, ok := rows[k.anchor]
		if !ok {
			t.Errorf("%s has no row #%s", guidePath, k.anchor)
		} else if !strings.Contains(row, k.mends) {
			t.Errorf("the row #%s does not say %q:\n%s", k.anchor, k.mends, row)
		}
	}
}

// TestKinds: what was asked for decides, where most of a cause's excess has it.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		cause  reqtrace.Cause
		sites  []reqtrace.Blame
		anchor string
	}{
		{reqtrace.CauseLock, nil, "lock"},
		{reqtrace.CauseLock, []reqtrace.Blame{{Op: "RWMutex", Time: 6 * ms}}, "rwmutex"},
		{reqtrace.CauseLock, []reqtrace.Blame{{
			Op: "RWMutex", Holder: "main.report", Writer: "main.refresh",
			Time: 6 * ms,
		}}, "rwmutex-reader"},
		{reqtrace.CauseLock, []reqtrace.Blame{{Op: "RWMutex", Time: 3 * ms}, {Op: "mutex", Time: 4 * ms}}, "lock"},
		{reqtrace.CauseChannel, []reqtrace.Blame{{Op: "connection pool", Time: 8 * ms}}, "pool"},
		{reqtrace.CauseSleep, []reqtrace.Blame{{Op: "rate limiter", Time: 8 * ms}}, "rate-limiter"},
		{
			reqtrace.CauseSleep,
			[]reqtrace.Blame{{Op: "pause before a retry", Inside: "retry.Do", Time: 8 * ms}},
			"retry",
		},
		{reqtrace.CauseSleep, []reqtrace.Blame{{Op: "sleep", Inside: "poll.Wait", Time: 8 * ms}}, "library-sleep"},
		{reqtrace.CauseSyscall, []reqtrace.Blame{{Op: "fdatasync", Time: 8 * ms}}, "fsync"},
		{reqtrace.CauseSyscall, []reqtrace.Blame{{Op: "pread", Time: 8 * ms}}, "file"},
		{reqtrace.CauseSyscall, []reqtrace.Blame{{Op: "ioctl", Time: 8 * ms}}, "syscall"},
		{reqtrace.CauseNetwork, []reqtrace.Blame{{Op: "name server", Time: 8 * ms}}, "dns"},
		{reqtrace.CauseCgo, []reqtrace.Blame{{Op: "mutex", Time: 8 * ms}}, "cgo"},
		{reqtrace.CauseRunning, nil, "running"},
	} {
		for i := range tt.sites {
			tt.sites[i].Cause = tt.cause
		}
		r := fakeReport(partsOf(times{}), partsOf(times{tt.cause: 10 * time.Millisecond}), tt.sites...)
		if got, want := Of(r).Causes[0].Guide, guidePath+"#"+tt.anchor; got != want {
			t.Errorf("%s %v: %s, want %s", tt.cause, tt.sites, got, want)
		}
	}
}

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
		"The trace is cut off or corrupt. The report covers only the ", v.Report().Broken,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
