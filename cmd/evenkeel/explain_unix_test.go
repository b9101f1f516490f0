//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

// TestExplainStdin pipes a trace in, as curl would.
func TestExplainStdin(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(traceFile(t))
	if err != nil {
		t.Fatal(err)
	}
	s := command(t, "explain", "-fail-if", "lock>50%", "-")
	s.cmd.Stdin = bytes.NewReader(b)
	s.start()
	s.wait().check(t, cli.ExitLimit, []string{"400 whole requests"}, []string{"-fail-if lock>50%: it is "})
}

// TestExplainInterrupted has Ctrl-C come while it waits for a pipe, and for a server.
func TestExplainInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- true
		<-r.Context().Done()
	}))
	defer srv.Close()
	s := start(t, "explain", srv.URL+"/debug/pprof/trace?seconds=60")
	<-asked
	s.signal(syscall.SIGINT)
	s.wait().check(t, cli.ExitInterrupted, nil, []string{"evenkeel explain: interrupted"})

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := command(t, "explain", "-")
	p.cmd.Stdin = r
	p.start()
	b, err := os.ReadFile(traceFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(b) <= 72<<10 {
		t.Fatalf("a trace of %d bytes fits into a pipe: make it longer", len(b))
	}
	if _, err := w.Write(b[:len(b)-4<<10]); err != nil { // it reads by then
		t.Fatal(err)
	}
	p.signal(syscall.SIGINT)
	p.wait().check(t, cli.ExitInterrupted, nil, []string{"evenkeel explain: interrupted"})
}

func TestRunExplain(t *testing.T) {
	t.Parallel()
	s, dir := newService(t), t.TempDir()
	out, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "explain.html")
	r := execute(t, s.args("-n 100 -c 4 -repeat 2 -o "+out+" -explain-html "+page, "-pprof", "-slow", "40ms")...)
	r.check(t, cli.ExitOK, []string{
		"requests/s", "\nwhy requests were slow\n", "The slowest 1% take", "whole requests (without marks) in 5",
		"what a trace cannot show",
	}, []string{"tracing 5 s of the same load", "wrote " + page})
	if n := strings.Count(r.stderr, "tracing 5 s"); n != 1 {
		t.Errorf("%d traces, want one, of the last repeat", n)
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Contains(b, []byte("<!DOCTYPE html>")) {
		t.Errorf("the page: %v", err)
	}
	for _, run := range readRuns(t, out).Runs {
		if run.Load.Answered != 100 || len(run.Notes) > 0 {
			t.Errorf("the measured window has %d answers, want 100; notes %q", run.Load.Answered, run.Notes)
		}
	}
	s.gone(1)
}

// TestRunExplainWithoutPprof keeps what was measured.
func TestRunExplainWithoutPprof(t *testing.T) {
	t.Parallel()
	s := newService(t)
	r := execute(t, s.args("-n 100 -explain")...)
	r.check(t, cli.ExitFailed, []string{"requests/s"},
		[]string{"evenkeel run: -explain: ", "404 Not Found", "import net/http/pprof", "-pprof"})
	s.gone(1)
}

// TestRunExplainInterrupted has Ctrl-C come during the trace.
func TestRunExplainInterrupted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	e := start(t, s.args("-n 100 -explain", "-pprof")...)
	until(t, "the trace begins", func() bool { return e.stderr.has("tracing") })
	e.signal(syscall.SIGINT)
	r := e.wait()
	r.check(t, cli.ExitInterrupted, []string{"requests/s"}, []string{"interrupted"})
	if strings.Contains(r.stderr, "-explain") {
		t.Errorf("an interruption is no error of the trace:\n%s", r.stderr)
	}
	s.gone(1)
}
