package perfetto

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

// read is an event as a reader of the format sees it.
type read struct {
	Ph   string      `json:"ph"`
	Name string      `json:"name"`
	Pid  int         `json:"pid"`
	Tid  int         `json:"tid"`
	Ts   json.Number `json:"ts"`
	Dur  json.Number `json:"dur"`
	Args map[string]any
}

// ns returns a time of the file, which is a decimal number of microseconds.
func ns(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, part, ok := strings.Cut(n.String(), ".")
	if !ok || len(part) != 3 {
		t.Fatalf("time %q", n)
	}
	v, err := json.Number(whole + part).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checked parses what Write writes of a report, and checks that each track has a name, and that the
// slices of a track lie within each other or apart.
func checked(t *testing.T, r *reqtrace.Report) []read {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, "trace.out", r); err != nil {
		t.Fatal(err)
	}
	var file struct {
		DisplayTimeUnit string
		TraceEvents     []read
	}
	if err := json.Unmarshal([]byte(b.String()), &file); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	type track struct{ pid, tid int }
	names, pieces := map[track]string{}, map[track][]read{}
	for _, e := range file.TraceEvents {
		at := track{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			if n, ok := e.Args["name"].(string); ok {
				names[at] = n
			}
		case "X":
			pieces[at] = append(pieces[at], e)
		default:
			t.Errorf("an event of phase %q", e.Ph)
		}
	}
	for at, list := range pieces {
		if names[at] == "" || names[track{at.pid, 0}] == "" {
			t.Errorf("track %v has no name", at)
		}
		start := func(e read) int64 { return ns(t, e.Ts) }
		end := func(e read) int64 { return ns(t, e.Ts) + ns(t, e.Dur) }
		if !slices.IsSortedFunc(list, func(a, b read) int { return cmp.Compare(start(a), start(b)) }) {
			t.Errorf("the slices of track %v are not in order", at)
		}
		var open []read
		for _, e := range list {
			for len(open) > 0 && end(open[len(open)-1]) <= start(e) {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && end(e) > end(open[n-1]) {
				t.Errorf("track %v: %s from %d to %d begins in %s and ends after it", at, e.Name, start(e), end(e),
					open[n-1].Name)
			}
			open = append(open, e)
			if len(open) > 2 || len(open) > 1 && e.Tid != own {
				t.Errorf("track %v: %d deep at %d", at, len(open), start(e))
			}
		}
	}
	return file.TraceEvents
}

// TestKnownReport: of a request the whole and each piece, and the spans of the collector and the
// machine.
func TestKnownReport(t *testing.T) {
	b, err := os.ReadFile("../../../../internal/verdict/testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reqtrace.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	r.Machine.Spans = []reqtrace.Span{{Start: time.Second, End: 2 * time.Second}}
	want := len(r.Spans) + len(r.Machine.Spans)
	for _, q := range r.Slowest {
		want += 1 + len(q.Path)
	}
	got := 0
	for _, e := range checked(t, &r) {
		if e.Ph == "X" && (e.Pid == collector || e.Tid == own) {
			got++
		}
	}
	if got != want {
		t.Errorf("%d slices, want %d", got, want)
	}
}

// TestHolders: who was waited for has a track; pieces of one holder are one slice, others are not.
func TestHolders(t *testing.T) {
	const ms = time.Millisecond
	tile := func(from, to int, c reqtrace.Cause, holder string, doing reqtrace.Cause) reqtrace.Tile {
		return reqtrace.Tile{
			Start: time.Duration(from)*ms + 7, End: time.Duration(to)*ms + 7, Cause: c,
			Site: "main.get", Holder: holder, Doing: doing,
		}
	}
	q := reqtrace.Request{ID: "\x1b[31mred", Goroutine: 7, Start: 10*ms + 7, End: 60*ms + 7, Path: []reqtrace.Tile{
		tile(10, 20, reqtrace.CauseRunning, "", 0),
		tile(20, 30, reqtrace.CauseLock, "main.refresh", reqtrace.CauseNetwork),
		tile(30, 40, reqtrace.CauseLock, "main.refresh", reqtrace.CauseNetwork),
		tile(40, 50, reqtrace.CauseLock, "main.refresh", reqtrace.CauseSyscall),
		tile(50, 60, reqtrace.CauseRunning, "", 0),
	}}
	var who []string
	for _, e := range checked(t, &reqtrace.Report{Requests: 1, Slowest: []reqtrace.Request{q}}) {
		if strings.Contains(e.Name, "\x1b") {
			t.Errorf("%q", e.Name)
		}
		if e.Ph == "X" && e.Pid == collector+1 && e.Tid == holders {
			who = append(who, e.Name+" "+e.Ts.String()+" "+e.Dur.String()+" "+e.Args["meanwhile"].(string))
		}
	}
	want := []string{
		"main.refresh 20000.007 20000.000 waiting for the network",
		"main.refresh 40000.007 10000.000 in a system call",
	}
	if !slices.Equal(who, want) {
		t.Errorf("%q, want %q", who, want)
	}
}

// TestNothing: a report without requests is a file that can be read, too.
func TestNothing(t *testing.T) { checked(t, &reqtrace.Report{}) }

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestFull(t *testing.T) {
	if err := Write(full{}, "trace.out", &reqtrace.Report{}); err == nil {
		t.Error("no error")
	}
}
