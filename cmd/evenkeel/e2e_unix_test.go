//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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
			t.Fatalf("in vain: %s", what)
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
func (s *service) gone(n int) {
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
