package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

func TestParseLimit(t *testing.T) {
	for _, tt := range []struct {
		in, band, cause string
		percent         float64
		err             string
	}{
		{in: "gc>30%", band: "p99+", cause: "gc", percent: 30},
		{in: "p99+:gc>0%", band: "p99+", cause: "gc"},
		{in: " p99.9+ : runqueue-gc > 12.5 % ", band: "p99.9+", cause: "runqueue-gc", percent: 12.5},
		{in: "p0-50:lock>5%", band: "p0-50", cause: "lock", percent: 5},
		{in: "p99-99.9:queue>5%", band: "p99-99.9", cause: "queue", percent: 5},
		{in: "assists>5%", band: "p99+", cause: "assists", percent: 5},
		{in: "unknown>1%", band: "p99+", cause: "unknown", percent: 1},

		{in: "", err: "no > in it"},
		{in: "gc<30%", err: "no > in it"},
		{in: "gc>30", err: "does not end in %"},
		{in: "gc>%", err: "is not a share"},
		{in: "gc>NaN%", err: "is not a share"},
		{in: "gc>-1%", err: "is not a share"},
		{in: "gc>100%", err: "less than 100%"},
		{in: "gc>1e9%", err: "is not a share"},
		{in: "gc>>3%", err: "is not a share"},
		{in: ">3%", err: `no cause ""`},
		{in: "GC>3%", err: "groups gc, assists and queue"},
		{in: "locks>3%", err: "runqueue-gc runqueue runqueue-idle"},
		{in: "p95:gc>3%", err: "p90-99 p99-99.9"},
		{in: ":gc>3%", err: `no band ""`},
		{in: "gc.whatif>3%", err: `no cause "gc.whatif"`},
	} {
		l, err := parseLimit(tt.in, false, nil)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || l.band != tt.band || l.cause != tt.cause || l.percent != tt.percent || len(l.causes) == 0 {
			t.Errorf("%q: %+v, %v", tt.in, l, err)
		}
	}
}

// TestLimitNamesAllCauses: each cause can be limited, and the error of a wrong one names it.
func TestLimitNamesAllCauses(t *testing.T) {
	_, wrong := parseLimit("x>1%", false, nil)
	for _, c := range reqtrace.Causes() {
		name := c.String()
		if !slices.Contains(strings.Fields(strings.ReplaceAll(wrong.Error(), ",", "")), name) {
			t.Errorf("%v lacks %s", wrong, name)
		}
		if l, err := parseLimit(name+">1%", false, nil); err != nil || !slices.Equal(l.causes, []reqtrace.Cause{c}) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	for _, g := range verdict.Groups {
		if !strings.Contains(wrong.Error(), g.Name) {
			t.Errorf("%v lacks %s", wrong, g.Name)
		}
	}
}

func TestLimitCheck(t *testing.T) {
	r := &reqtrace.Report{Requests: 100}
	r.Tail.Excess.Add(reqtrace.CauseLock, 60*time.Millisecond)
	r.Tail.Excess.Add(reqtrace.CauseAssistMark, 40*time.Millisecond)
	r.Tail.Excess.Add(reqtrace.CauseRunning, -time.Second)
	r.Bands = []reqtrace.Band{{Name: "p0-50"}, {Name: "p90-99"}}
	r.Bands[1].Excess.Add(reqtrace.CauseSleep, time.Second)
	for _, tt := range []struct{ limits, hit string }{
		{"lock>59.9%", "-fail-if lock>59.9%: it is 60.0%, 0.1 points too much"},
		{"lock>59.99%", "less than 0.1 points"},
		{"lock>60%", ""},
		{"gc>30%", "it is 40.0%, 10.0 points too much"},
		{"assists>30%", "it is 40.0%"},
		{"queue>0%", ""},
		{"running>0%", ""},
		{"p90-99:sleep>50%", "it is 100.0%, 50.0 points"},
		{"p0-50:sleep>0%", ""},
	} {
		l, err := parseLimit(tt.limits, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		hit, err := Limits{l}.Check(verdict.Of(r))
		if got := strings.Join(hit, "\n"); err != nil || tt.hit == "" && got != "" || !strings.Contains(got, tt.hit) {
			t.Errorf("%s: %q, %v, want %q", tt.limits, got, err, tt.hit)
		}
	}
	l, _ := parseLimit("p99.9+:gc>1%", false, nil)
	hit, err := Limits{l}.Check(verdict.Of(r))
	if want := "-fail-if p99.9+:gc>1%: no request is in that band"; len(hit) > 0 || err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q, %v, want %q", hit, err, want)
	}
}

// FuzzParseLimit has what is understood mean the same when it is written out.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{
		"gc>30%", "p99.9+:lock > 5 %", "gc.whatif>1%", "p99+:queue>0x1p-2%", "a:b:c>1%",
		"\x00>%",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := parseLimit(s, false, nil)
		if err != nil {
			return
		}
		if math.IsNaN(l.percent) || l.percent < 0 || l.percent >= 100 || len(l.causes) == 0 {
			t.Fatalf("%q: %+v", s, l)
		}
		again, err := parseLimit(fmt.Sprintf("%s:%s>%v%%", l.band, l.cause, l.percent), false, nil)
		if err != nil || again.band != l.band || again.cause != l.cause || again.percent != l.percent ||
			!slices.Equal(again.causes, l.causes) {
			t.Fatalf("%q is %+v, written out it is %+v, %v", s, l, again, err)
		}
	})
}

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

// TestLimitFewRequests: three slow requests fail no build.
func TestLimitFewRequests(t *testing.T) {
	limits, err := ParseLimits([]string{"prices>30%"}, false, []string{"shop", "prices"})
	if err != nil {
		t.Fatal(err)
	}
	s := &across.Story{
		Median: time.Millisecond, Tail: 50 * time.Millisecond, Joined: 1,
		Parts: []across.Part{{Service: "prices", Share: .9}},
	}
	for slow, want := range map[int]error{3: cli.ErrInconclusive, 4: cli.ErrLimit} {
		s.Slow = slow
		if lines, err := limits.CheckAcross(s, "shop"); err != want || len(lines) != 1 {
			t.Errorf("%d: %v, %q", slow, err, lines)
		}
	}
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
