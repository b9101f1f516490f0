//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// commandTimeout bounds a command, which may start a service many times on a machine that is busy:
// only one that hangs meets it.
const commandTimeout = 10 * time.Minute

// session is the built command while it runs.
type session struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr output
}

// output is what a process has written so far.
type output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) has(s string) bool { return strings.Contains(o.String(), s) }

// start starts the command.
func start(t *testing.T, args ...string) *session { return startWith(t, "", args...) }

func startWith(t *testing.T, stdin string, args ...string) *session {
	t.Helper()
	s := command(t, args...)
	s.cmd.Stdin = strings.NewReader(stdin)
	s.start()
	return s
}

func command(t *testing.T, args ...string) *session {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	t.Cleanup(cancel)
	s := &session{t: t, cmd: thisCommand(ctx, args...)}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	s.cmd.WaitDelay = patience // a busy machine has time to copy its output
	return s
}

func (s *session) start() {
	s.t.Helper()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) wait() result {
	s.t.Helper()
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Errorf("%v: a process that holds its output was left behind?", err)
	}
	return result{s.stdout.String(), s.stderr.String(), s.cmd.ProcessState.ExitCode()}
}

func execute(t *testing.T, args ...string) result {
	t.Helper()
	return start(t, args...).wait()
}

func (s *session) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

// until waits for a state of the world.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

var nextPort atomic.Int64

func init() { nextPort.Store(20000 + rand.Int64N(10000)) }

// freeAddr returns an address where nobody listens, below the ports that systems hand out.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+nextPort.Add(1)%10000)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// service is testdata/server, to be started by evenkeel.
type service struct {
	t       *testing.T
	program string
	addr    string
	pids    string
}

func newService(t *testing.T) *service {
	t.Helper()
	return &service{t, testServer(t), freeAddr(t), filepath.Join(t.TempDir(), "pids")}
}

func (s *service) url() string { return "http://" + s.addr + "/" }

// args are those of evenkeel run for it: flags, --, the server and its own flags.
func (s *service) args(flags string, server ...string) []string {
	args := append([]string{"run", "-url", s.url()}, strings.Fields(flags)...)
	return append(append(args, "--", s.program, "-addr", s.addr, "-pids", s.pids), server...)
}

func (s *service) processes() []string {
	b, _ := os.ReadFile(s.pids)
	return strings.Fields(string(b))
}

// gone checks that nothing of the service is left.
func (s *service) ended(n int) {
	s.t.Helper()
	pids := s.processes()
	if len(pids) != n {
		s.t.Errorf("the service had %d processes, want %d", len(pids), n)
	}
	for _, pid := range pids {
		until(s.t, "process "+pid+" is gone", func() bool { return !alive(pid) })
	}
}

// alive takes a process that nobody has waited for as gone.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		panic(err)
	}
	if stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat")); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return state[0] != 'Z' && state[0] != 'X'
	}
	return syscall.Kill(n, 0) == nil
}

func readRuns(t *testing.T, name string) *runfile.File {
	t.Helper()
	files, _, err := readRunFiles([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

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
	out, traces := filepath.Join(dir, "run.json"), filepath.Join(dir, "traces")
	r := execute(t, s.args("-n 100 -c 4 -repeat 2 -o "+out+" -traces "+traces, "-pprof", "-slow", "40ms")...)
	r.check(t, cli.ExitOK, []string{
		"requests/s", "\nwhy requests were slow\n", "The slowest 1% take", "whole requests (without marks) in 5",
		"what a trace cannot show",
	}, []string{"tracing 5 s of the same load"})
	if n := strings.Count(r.stderr, "tracing 5 s"); n != 1 {
		t.Errorf("%d traces, want one, of the last repeat", n)
	}
	if kept, err := os.ReadDir(traces); err != nil || len(kept) != 1 {
		t.Errorf("%v, %v; want the trace of the last repeat", kept, err)
	}
	for _, run := range readRuns(t, out).Runs {
		if run.Load.Answered != 100 || len(run.Notes) > 0 {
			t.Errorf("the measured window has %d answers, want 100; notes %q", run.Load.Answered, run.Notes)
		}
	}
	s.ended(1)
}

// TestRunExplainWithoutPprof keeps what was measured.
func TestRunExplainWithoutPprof(t *testing.T) {
	t.Parallel()
	s := newService(t)
	r := execute(t, s.args("-n 100 -explain")...)
	r.check(t, cli.ExitFailed, []string{"requests/s"},
		[]string{"evenkeel run: -explain: ", "404 Not Found", "import net/http/pprof", "-pprof"})
	s.ended(1)
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
	s.ended(1)
}
