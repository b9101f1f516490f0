package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

// recordedTraces are those that package reqtrace's tests read: in each, requests wait for a lock at
// the same place.
const recordedTraces = "../../reqtrace/testdata/go1.2[345].trace.gz"

func TestExplainAgainst(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	call("explain", "-against", recordedTraces, "-html", page, recordedTraces).check(t, cli.ExitOK, []string{
		"Inconclusive. The slowest 1% take ", "old: 3 traces, 899 requests",
	}, []string{"wrote " + page})
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "What makes the difference") {
		t.Errorf("the page: %v, %d bytes", err, len(b))
	}
	call("explain", "-against", lockTraceFile, "-html", "-", lockTraceFile).check(t, cli.ExitOK,
		[]string{"<!DOCTYPE html>"}, nil)
	call("explain", "-against", "old="+lockTraceFile, "new="+lockTraceFile).check(t, cli.ExitOK,
		[]string{"No difference to name. ", "! A side has one trace. The machine may have differed"}, nil)
}

// copyOf copies a file, as one that is named twice is one trace.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestExplainAgainstOnce: a file that is named twice is one trace.
func TestExplainAgainstOnce(t *testing.T) {
	call("explain", "-against", "../../reqtrace/testdata/go1.2[34].trace.gz", "-against",
		"../../reqtrace/testdata/go1.23.trace.gz", lockTraceFile).check(t, cli.ExitOK, []string{"old: 2 traces"}, nil)
}

func TestExplainAgainstJSON(t *testing.T) {
	r := call("explain", "-against", recordedTraces, "-json", copyOf(t, lockTraceFile), lockTraceFile)
	r.check(t, cli.ExitOK, nil, nil)
	var got struct {
		Version int
		Old     []string `json:"old_sources"`
		New     []string `json:"new_sources"`
		Change  struct {
			Sentence string
			Old      struct{ Requests int }
			New      struct{ Requests int }
			Slow     struct {
				More int `json:"more_ns"`
			}
			Rows []struct {
				Cause, Function string
				Slow            struct {
					More int `json:"more_ns"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Change; got.Version != 1 || len(got.Old) != 3 || len(got.New) != 2 || c.Old.Requests != 899 ||
		c.New.Requests != 800 || c.Sentence == "" {
		t.Errorf("%+v", got)
	}
	sum := 0
	for _, row := range got.Change.Rows {
		sum += row.Slow.More
	}
	if d := sum - got.Change.Slow.More; d < -len(got.Change.Rows) || d > len(got.Change.Rows) {
		t.Errorf("the rows add up to %d, want %d", sum, got.Change.Slow.More)
	}
}

func TestExplainAgainstFailIf(t *testing.T) {
	nothing := []string{"Inconclusive. The slowest 1%"}
	call("explain", "-against", recordedTraces, "-fail-if", "lock>+300%", recordedTraces).check(t, cli.ExitOK, nothing,
		[]string{"-fail-if lock>+300%: kept: 0 ["})
	call("explain", "-against", recordedTraces, "-fail-if", "p99+:total>0%", "-fail-if", "lock>+1%",
		recordedTraces).check(t, cli.ExitInconclusive, nothing,
		[]string{"-fail-if p99+:total>0%: inconclusive: 0 [", "-fail-if lock>+1%: inconclusive: 0 ["})
	// A lock takes more there. Three copies of a trace do not differ from each other.
	same := []string{"explain", "-fail-if", "lock>+1%", "-fail-if", "lock>+1000%"}
	for range 3 {
		same = append(same, "-against", copyOf(t, lockTraceFile), copyOf(t, "../../reqtrace/testdata/go1.26.trace.gz"))
	}
	call(same...).check(t, cli.ExitLimit, nil, []string{
		"-fail-if lock>+1%: exceeded: +",
		"-fail-if lock>+1000%: kept",
	})
}

// TestExpandNames: a file is what its name says, also where that reads as a pattern of another.
func TestExpandNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"t[1].trace", "t1.trace", "t2.trace", "[.trace"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"t[1].trace": {"t[1].trace"}, "[.trace": {"[.trace"}, "t[12].trace": {"t1.trace", "t2.trace"},
		"http://h/[": {"http://h/["}, "none": {"none"},
	} {
		if got, err := expand([]string{pattern, pattern}); err != nil || !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s: %q, %v, want %q", pattern, got, err, want)
		}
	}
	for _, pattern := range []string{"x[1].trace", "x[.trace"} {
		if got, err := expand([]string{pattern}); err == nil {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

// TestExplainAgainstWrong: what is wrong is said in the words of the command line, and nothing that
// was asked for is left out silently.
func TestExplainAgainstWrong(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-against", lockTraceFile}, cli.ExitUsage, "no trace of the new version"},
		{
			[]string{"-against", lockTraceFile, "-perfetto", filepath.Join(dir, "out.json"), lockTraceFile},
			cli.ExitUsage,
			"-against and -perfetto exclude each other",
		},
		{
			[]string{"-against", lockTraceFile, "-slowest", "10", lockTraceFile},
			cli.ExitUsage,
			"-against and -slowest exclude each other",
		},
		{
			[]string{"-against", lockTraceFile, "http://127.0.0.1:1/debug/pprof/trace"},
			cli.ExitFailed,
			"127.0.0.1:1",
		},
		{[]string{"-against", filepath.Join(dir, "old*.trace"), lockTraceFile}, cli.ExitUsage, "no file matches "},
		{
			[]string{"-against", lockTraceFile, "-class", "main.nobody", lockTraceFile},
			cli.ExitFailed,
			": -class: no request is of class",
		},
		{
			[]string{"-against", lockTraceFile, "-request", "main.[", lockTraceFile},
			cli.ExitUsage,
			`-request: "main.[" is not a pattern`,
		},
		{
			[]string{"-fail-if", "lock>+10%", lockTraceFile},
			cli.ExitUsage,
			"name the old version's traces with -against",
		},
		{
			[]string{"-fail-if", "total>5%", lockTraceFile},
			cli.ExitUsage,
			"name the old version's traces with -against",
		},
	} {
		call(append([]string{"explain"}, tt.args...)...).check(t, tt.code, nil, []string{tt.want})
	}
}

// servedUnderLoad serves this process's traces and what else is given, under load until the test
// ends.
func servedUnderLoad(t *testing.T, profile http.HandlerFunc) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/profile", profile)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, burn()) })
	srv := httptest.NewServer(mux)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait(); srv.Close() })
	wg.Go(func() {
		for ctx.Err() == nil {
			if res, err := srv.Client().Get(srv.URL); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			time.Sleep(5 * time.Millisecond) // the client's: some hundred requests a second are enough
		}
	})
	return srv.URL + "/debug/pprof/trace?seconds="
}

// burn computes for some milliseconds.
func burn() string {
	x := uint64(1)
	for range 3_000_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	if x == 0 {
		return "none"
	}
	return "some"
}

// TestExplainProfiles: a trace from a URL has the samples of a CPU profile that the command takes
// during the trace.
func TestExplainProfiles(t *testing.T) {
	at := servedUnderLoad(t, pprof.Profile)
	var r result
	for seconds, end := 1, time.Now().Add(time.Minute); time.Now().Before(end); seconds = 3 {
		r = call("explain", "-json", at+string(rune('0'+seconds)))
		if strings.Contains(r.stdout, `"site": "evenkeel.burn (explainagainst_test.go:`) {
			break
		}
	}
	r.check(t, cli.ExitOK, []string{`"samples": [`, `"site": "evenkeel.burn (explainagainst_test.go:`, `"low": `}, nil)
}

// TestExplainOwnRequests: what the command asks of the service is none of its requests. The service
// never waits for a timer, and the handlers of a trace and of a profile do.
func TestExplainOwnRequests(t *testing.T) {
	var asked atomic.Int32
	at := servedUnderLoad(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("seconds") == "2" { // longer than the trace: it ends when it is told to
			asked.Add(1)
		}
		pprof.Profile(w, r)
	})
	for range 2 { // the first one's connections are there still
		r := call("explain", "-json", at+"0.6")
		for end := time.Now().Add(time.Minute); r.code == cli.ExitFailed && time.Now().Before(end); {
			r = call("explain", "-json", at+"1")
		}
		// Its handlers may have had the CPU before a request, as "holder". They are no request.
		own := regexp.MustCompile(`"(class|name|handler|site)": "pprof\.`).MatchString(r.stdout)
		if r.code != cli.ExitOK || own || strings.Contains(r.stdout, `"sleep":`) {
			t.Errorf("exit code %d, %s %s", r.code, r.stdout, r.stderr)
		}
	}
	if asked.Load() == 0 {
		t.Error("no profile was asked for that is longer than the trace")
	}
}

// TestExplainNoProfile: a service that has no profile, or takes one already, is explained all the
// same.
func TestExplainNoProfile(t *testing.T) {
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		said  string
	}{
		"none": {http.NotFound, "answered 404 Not Found (404 page not found); the trace is used without"},
		"other": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}, "answered at once, and it was no profile"},
		"taken": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Could not enable CPU profiling: cpu profiling already in use",
				http.StatusInternalServerError)
		}, "already in use): one is being taken already, and its samples are in the trace"},
	} {
		at := servedUnderLoad(t, tt.serve)
		r := call("explain", at+"0.5")
		for end := time.Now().Add(time.Minute); r.code == cli.ExitFailed && time.Now().Before(end); {
			r = call("explain", at+"1")
		}
		if !strings.Contains(r.stderr, tt.said) || r.code != cli.ExitOK {
			t.Errorf("%s: exit code %d, %s", name, r.code, r.stderr)
		}
	}
}
