package explain

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"

	"evenkeel.dev/internal/golden"
)

// knownReport is made up, by the tests of internal/verdict.
func knownReport(t *testing.T) *reqtrace.Report {
	t.Helper()
	b, err := os.ReadFile("../../../../internal/verdict/testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reqtrace.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestVerdictJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, "trace.out", verdict.Of(knownReport(t))); err != nil {
		t.Fatal(err)
	}
	tool := regexp.MustCompile(`"tool": ".*"`)
	golden.Written(t, "explain.golden.json", func(out *bytes.Buffer) error {
		out.Write(tool.ReplaceAll(b.Bytes(), []byte(`"tool": "evenkeel"`)))
		return nil
	})

	var got struct {
		Version int
		Verdict struct{ Sentence string }
		Tail    struct {
			Parts  map[string]time.Duration `json:"parts_ns"`
			Shares map[string]float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != version || got.Verdict.Sentence == "" || got.Tail.Parts["lock"] != 4*time.Millisecond {
		t.Errorf("%+v", got)
	}
	sum := 0.
	for _, s := range got.Tail.Shares {
		sum += s
	}
	if sum < .999 || sum > 1.001 {
		t.Errorf("shares of the tail add up to %f", sum)
	}
}

// TestVerdictJSONHasNoNull has lists be lists even where there is nothing to list.
func TestVerdictJSONHasNoNull(t *testing.T) {
	for _, r := range []*reqtrace.Report{{}, knownReport(t)} {
		r.Spans, r.CCDF = nil, nil
		var b strings.Builder
		if err := WriteJSON(&b, "-", verdict.Of(r)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "null") {
			t.Errorf("null in\n%s", b.String())
		}
	}
}
