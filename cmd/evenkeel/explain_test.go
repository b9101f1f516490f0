package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"regexp"
	runtimetrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/reqtrace"
)

// lockTraceFile has the trace that takeLockTrace took once, so that its figures are always the
// same. This takes it anew, on an idle machine: go test -trimpath ./cmd/evenkeel -run Explain
// -take-trace
const lockTraceFile = "testdata/lock.trace.gz"

var takeTrace = flag.Bool("take-trace", false, "take the trace in testdata anew")

// lockTrace returns the trace in testdata.
var lockTrace = sync.OnceValues(func() ([]byte, error) {
	if *takeTrace {
		b, err := takeLockTrace()
		if err != nil {
			return nil, err
		}
		var z bytes.Buffer
		w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		if err := os.WriteFile(lockTraceFile, z.Bytes(), 0o644); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(lockTraceFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
})

// takeLockTrace traces a server, of which every twentieth request waits for a lock that somebody
// holds for some milliseconds.
func takeLockTrace() ([]byte, error) {
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer runtimetrace.StartRegion(r.Context(), "evenkeel.request").End() // as reqtrace/region does
		defer runtimetrace.StartRegion(r.Context(), "own").End()
		held(&mu)
		_, _ = io.WriteString(w, "hello")
	}))
	defer srv.Close()
	client := srv.Client()
	var b bytes.Buffer
	if err := runtimetrace.Start(&b); err != nil {
		return nil, err
	}
	defer runtimetrace.Stop()
	for i := range 400 {
		if i%20 == 19 {
			has := make(chan bool)
			go func() {
				mu.Lock()
				close(has)
				time.Sleep(12 * time.Millisecond)
				mu.Unlock()
			}()
			<-has
		}
		res, err := client.Get(srv.URL)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	time.Sleep(10 * time.Millisecond) // the last one's connection waits by now
	runtimetrace.Stop()
	return b.Bytes(), nil
}

//go:noinline
func held(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// traceFile writes that trace to a file.
func traceFile(t *testing.T) string {
	t.Helper()
	b, err := lockTrace()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestExplain(t *testing.T) {
	file := traceFile(t)
	page := filepath.Join(t.TempDir(), "page.html")
	r := call("explain", "-html", page, "-slowest", "3", file)
	r.check(t, cli.ExitOK, []string{
		"% of the extra time is waiting for a mutex. evenkeel.takeLockTrace.", "while sleeping",
		"evenkeel.held (explain_test.go:102)", "Fix: at explain_test.go:83, move",
		"400 whole requests (marked by regions)",
		"The garbage collector takes", "p0-50 200", "what a trace cannot show",
	}, []string{"wrote " + page})
	if n := len(regexp.MustCompile(` ms at [0-9.]+ ms`).FindAllString(r.stdout, -1)); n != 3 {
		t.Errorf("%d of the slowest requests, want 3", n)
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b,
		[]byte("Requests wait in evenkeel.held (explain_test.go:")) {
		t.Errorf("the page: %v, %d bytes", err, len(b))
	}
	call("explain", "-html", "-", file).check(t, cli.ExitOK, []string{"<!DOCTYPE html>"}, nil)
	call("explain", "-region", "own", file).check(t, cli.ExitOK, []string{"400 whole requests (marked by regions)"},
		nil)
}

// TestExplainDemo: the sentences, three rows and the page, wherever the command is.
func TestExplainDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	r := call("explain", "-demo")
	r.check(t, cli.ExitOK, []string{"87% of the extra time is waiting for a mutex. feed.(*Cache).Get (cache.go:81) " +
		"holds it", "waiting for a lock 0 170 ms"}, []string{"wrote " + demoPage})
	if n := strings.Count(r.stdout, "\n"); n > 9 {
		t.Errorf("%d lines:\n%s", n, r.stdout)
	}
	if b, err := os.ReadFile(demoPage); err != nil || !bytes.Contains(b, []byte("feed.(*Cache).Get")) {
		t.Errorf("the page: %v, %d bytes", err, len(b))
	}
	call("explain", "-demo", "-html", "other.html", "-json").check(t, cli.ExitOK, []string{`"tool": "evenkeel `},
		[]string{"wrote other.html"})
}

// TestExplainRequests: requests by the function that waits for work, and of one class alone.
func TestExplainRequests(t *testing.T) {
	file := traceFile(t)
	call("explain", "-request", "main.nobody", file).check(t, cli.ExitOK,
		[]string{"400 whole requests", `! No function of the trace matches "main.nobody"`}, nil)
	call("explain", "-request", "main.[", file).check(t, cli.ExitUsage, nil,
		[]string{`-request: "main.[" is not a pattern of functions`})
	call("explain", "-class", "evenkeel.takeLock*", file).check(t, cli.ExitOK, []string{"class evenkeel.takeLock*: "},
		nil)
	call("explain", "-class", "main.nobody", file).check(t, cli.ExitFailed, nil,
		[]string{`no request is of class "main.nobody"; write one of "`})
}

// TestExplainCompressed sees a trace that gzip has compressed read as it is, and the break in one
// that is cut off named.
func TestExplainCompressed(t *testing.T) {
	plain, packed := call("explain", traceFile(t)), call("explain", lockTraceFile)
	packed.check(t, cli.ExitOK, nil, nil)
	if packed.stdout != plain.stdout {
		t.Errorf("compressed:\n%s\nplain:\n%s", packed.stdout, plain.stdout)
	}
	b, err := os.ReadFile(lockTraceFile)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{
		3: "unexpected EOF; compress it again", 10: "the trace is cut off",
		len(b) / 2: "the trace is cut off",
	} {
		cut := filepath.Join(t.TempDir(), "cut.gz")
		if err := os.WriteFile(cut, b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if r := call("explain", cut); r.code != cli.ExitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%d bytes: exit code %d, %q", n, r.code, r.stderr)
		}
	}
}

// TestExplainNoRequests: what to do about a trace without requests is said in the flags' names, as
// lines to paste.
func TestExplainNoRequests(t *testing.T) {
	var b bytes.Buffer
	if err := runtimetrace.Start(&b); err != nil {
		t.Fatal(err)
	}
	jobs, done := make(chan int), make(chan int)
	go work(jobs, done)
	for range 100 {
		jobs <- 1
		<-done
	}
	close(jobs)
	<-done
	runtimetrace.Stop()
	name := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := call("explain", name)
	r.check(t, cli.ExitFailed, nil, []string{
		name, "(evenkeel explain -request)",
		"region.Middleware; these waited again and again:\n", "\n  -request 'evenkeel.work'",
	})
	if strings.Contains(r.stderr, "Options.") {
		t.Error(r.stderr)
	}
	call("explain", "-request", "evenkeel.work", name).check(t, cli.ExitOK, []string{" whole requests (without marks)"},
		nil)
}

// work does jobs that are no requests by their looks.
func work(jobs <-chan int, done chan<- int) {
	defer close(done)
	for j := range jobs {
		done <- j
	}
}

func TestExplainJSON(t *testing.T) {
	r := call("explain", "-json", traceFile(t))
	r.check(t, cli.ExitOK, nil, nil)
	var got struct {
		Version  int
		Requests int
		Verdict  struct {
			Named  bool
			Causes []struct{ Cause string }
		}
		Bands []struct {
			Mean  time.Duration            `json:"mean_ns"`
			Parts map[string]time.Duration `json:"parts_ns"`
		}
		Slowest []struct {
			Start time.Duration            `json:"start_ns"`
			End   time.Duration            `json:"end_ns"`
			Parts map[string]time.Duration `json:"parts_ns"`
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != 1 || got.Requests != 400 || !got.Verdict.Named || got.Verdict.Causes[0].Cause != "lock" ||
		len(got.Slowest) != 10 {
		t.Errorf("%+v", got)
	}
	for _, q := range got.Slowest {
		var sum time.Duration
		for _, d := range q.Parts {
			sum += d
		}
		if sum != q.End-q.Start {
			t.Errorf("the parts add up to %v of %v", sum, q.End-q.Start)
		}
	}
}

func TestExplainFailIf(t *testing.T) {
	file := traceFile(t)
	for _, tt := range []struct {
		limits []string
		code   int
		stderr string
	}{
		{[]string{"lock>99.9%"}, cli.ExitOK, ""},
		{[]string{"lock>50%"}, cli.ExitLimit, "evenkeel explain: -fail-if lock>50%: it is "},
		{[]string{"gc>90%", "p99-99.9:lock>50%"}, cli.ExitLimit, "points too much"},
	} {
		var args []string
		for _, l := range tt.limits {
			args = append(args, "-fail-if", l)
		}
		r := call(append(append([]string{"explain"}, args...), file)...)
		r.check(t, tt.code, []string{"The slowest 1% take"}, []string{tt.stderr})
		if n := strings.Count(r.stderr, "\n"); tt.code == cli.ExitOK && n != 0 || tt.code == cli.ExitLimit && n != 1 {
			t.Errorf("%v: %d lines of errors\n%s", tt.limits, n, r.stderr)
		}
	}
}

func TestExplainFails(t *testing.T) {
	b, err := lockTrace()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"empty": nil, "text": []byte("no trace at all"), "cut": b[:len(b)/2],
		"whole": b,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, flags, stderr string }{
		{"empty", "", "not an execution trace of Go"},
		{"text", "", "not an execution trace of Go"},
		{"whole", "-region nobody", `no region of type "nobody"`},
		{"nothing", "", "no such file"},
	} {
		r := call(append(append([]string{"explain"}, strings.Fields(tt.flags)...), filepath.Join(dir, tt.name))...)
		r.check(t, cli.ExitFailed, nil, []string{"evenkeel explain: ", tt.name, tt.stderr})
		if r.stdout != "" {
			t.Errorf("%s: printed\n%s", tt.name, r.stdout)
		}
	}
	if r := call("explain", filepath.Join(dir, "cut")); r.code != cli.ExitFailed && r.code != cli.ExitOK {
		t.Errorf("a trace that is cut in the middle: exit code %d\n%s", r.code, r.stderr)
	}
}

// TestAnalyzeInterrupted has a source that never ends.
func TestAnalyzeInterrupted(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := traces.Analyze(ctx, "pipe", in, reqtrace.Options{}); err != cli.ErrInterrupted {
		t.Errorf("%v, want %v", err, cli.ErrInterrupted)
	}
}

// TestExplainCutOff: what can be read of a trace that is cut off is explained, with a warning. A
// limit that a part of the trace keeps is not kept; one that the part exceeds is exceeded.
func TestExplainCutOff(t *testing.T) {
	packed, err := os.Open("../../reqtrace/testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "cut.trace")
	if err := os.WriteFile(name, b[:len(b)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	stdout := []string{
		"% of the extra time is waiting for a mutex. main.(*cache).refresh (main.go:43)",
		"! The trace is cut off or corrupt. The report covers only the ",
	}
	said := []string{"evenkeel explain: " + name + ": the trace is cut off or corrupt; take it again, and wait for " +
		"its end"}
	call("explain", name).check(t, cli.ExitOK, stdout, said)
	call("explain", "-fail-if", "gc>90%", name).check(t, cli.ExitFailed, stdout, said)
	call("explain", "-fail-if", "lock>50%", name).check(t, cli.ExitLimit, stdout, []string{"-fail-if lock>50%: it is "})
	call("explain", "-json", name).check(t, cli.ExitOK, []string{`"broken": "after `, "cut off or corrupt"}, said)

	whole, err := os.ReadFile(packed.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, whole[:len(whole)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	// gzip that is cut off
	call("explain", name).check(t, cli.ExitOK, stdout[1:], []string{"the report covers only the part before"})
}

// TestExplainURL takes a trace of this very process while it serves.
func TestExplainURL(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait() }()
	wg.Go(func() {
		for ctx.Err() == nil {
			if res, err := srv.Client().Get(srv.URL); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			time.Sleep(time.Millisecond)
		}
	})
	r := call("explain", strings.TrimPrefix(srv.URL, "http://")+"/?seconds=0.3")
	for end := time.Now().Add(time.Minute); r.code == cli.ExitFailed && strings.Contains(r.stderr, "request") &&
		time.Now().Before(end); {
		r = call("explain", srv.URL+"/debug/pprof/trace?seconds=1") // a busy machine
	}
	r.check(t, cli.ExitOK, []string{"The slowest 1% take", "whole requests (without marks)"},
		[]string{"taking a trace of 0.3 s from http://"})
}

// TestExplainRecorder explains what a recorder has, and asks for nothing beside it.
func TestExplainRecorder(t *testing.T) {
	b, err := os.ReadFile("../../reqtrace/testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/evenkeel/snapshot", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) })
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) { t.Errorf("asked for %s", q.URL) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	r := call("explain", srv.URL+"/debug/evenkeel/")
	r.check(t, cli.ExitOK, []string{"The slowest 1% take", "whole requests"}, nil)
	if strings.Contains(r.stderr, "taking a trace") || strings.Contains(r.stderr, "profile") {
		t.Error(r.stderr)
	}
}
