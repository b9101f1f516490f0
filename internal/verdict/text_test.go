package verdict

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"

	"evenkeel.dev/internal/golden"
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

// TestVerdictFromJSON: one that a program reads back says its sentence, and has no report to show.
func TestVerdictFromJSON(t *testing.T) {
	of := Of(knownReport())
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	var v Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := v.WriteText(&b, Options{}); err != nil || !strings.HasPrefix(b.String(), of.Sentence+"\n") {
		t.Errorf("%v: %q", err, b.String())
	}
	if v.Report() != nil || v.Scope() != "" || v.Table() != nil || v.Places() != nil {
		t.Errorf("%v, %q, %v, %v", v.Report(), v.Scope(), v.Table(), v.Places())
	}
}
