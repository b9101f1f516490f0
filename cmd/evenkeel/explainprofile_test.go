package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

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
// meanwhile, unless it is told not to.
func TestExplainProfiles(t *testing.T) {
	at := servedUnderLoad(t, pprof.Profile)
	var r result
	for seconds, end := 1, time.Now().Add(time.Minute); time.Now().Before(end); seconds = 3 {
		r = call("explain", "-json", at+string(rune('0'+seconds)))
		if strings.Contains(r.stdout, `"site": "evenkeel.burn (explainprofile_test.go:`) {
			break
		}
	}
	r.check(t, cli.ExitOK, []string{`"samples": [`, `"site": "evenkeel.burn (explainprofile_test.go:`, `"low": `}, nil)
	r = call("explain", "-json", "-no-profile", at+"0.5")
	if strings.Contains(r.stdout, `"samples"`) {
		t.Error("-no-profile has samples: ", r.stdout)
	}
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
