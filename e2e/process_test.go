//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds of what a test waits for: only what hangs meets them.
const (
	startTimeout = time.Minute
	stopTimeout  = time.Minute
)

var binDir string // of what build has built; TestMain makes and removes it

func TestMain(m *testing.M) {
	if setup := os.Getenv(gatedEnv); setup != "" {
		fmt.Fprintln(os.Stderr, runGated(setup)) // it serves until it is killed
		os.Exit(1)
	}
	os.Exit(func() int {
		var err error
		if binDir, err = os.MkdirTemp("", "e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(binDir)
		return m.Run()
	}())
}

// build compiles the package in dir, a folder relative to this one, unless a test before this one
// did, and returns the binary.
func build(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(binDir, filepath.Base(dir))
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", dir, err, out)
	}
	return bin
}

// process is a running program, the leader of a process group of its own.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has left and its output is read

	mu     sync.Mutex
	stdout bytes.Buffer // guarded by mu
	stderr bytes.Buffer // guarded by mu
}

// start runs bin and returns, with the first submatch, when a line of its stdout matches
// ready. The whole group is killed when the test ends.
func start(t *testing.T, ready *regexp.Regexp, bin string, args ...string) (p *process, match string) {
	t.Helper()
	p = &process{cmd: exec.Command(bin, args...), exited: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = lockedWriter{&p.mu, &p.stderr}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	go func() {
		defer close(p.exited)
		p.read(stdout, ready, found)
		p.cmd.Wait()  // the test looks at ProcessState
		p.killGroup() // children that outlived it
	}()
	t.Cleanup(func() {
		select {
		case <-p.exited:
		default:
			p.killGroup()
			<-p.exited
		}
		if t.Failed() {
			out, errOut := p.output()
			t.Logf("%s\nstdout:\n%s\nstderr:\n%s", bin, out, errOut)
		}
	})
	select {
	case match = <-found:
	case <-p.exited:
		t.Fatalf("%s left before it was ready: %v", bin, p.cmd.ProcessState)
	case <-time.After(startTimeout):
		t.Fatalf("%s was not ready after %v", bin, startTimeout)
	}
	return p, match
}

// read keeps the program's stdout and reports the first match of ready.
func (p *process) read(stdout io.Reader, ready *regexp.Regexp, found chan<- string) {
	lines := bufio.NewReader(stdout)
	for reported := false; ; {
		line, err := lines.ReadString('\n')
		lockedWriter{&p.mu, &p.stdout}.Write([]byte(line))
		if m := ready.FindStringSubmatch(line); m != nil && !reported {
			found <- m[1]
			reported = true
		}
		if err != nil {
			return
		}
	}
}

// stop asks the program to end, as a service manager would, and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stop: %v", err)
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		t.Fatalf("still running %v after SIGTERM", stopTimeout)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) output() (stdout, stderr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String(), p.stderr.String()
}

// killGroup kills what is left of the process group. It is called before the leader is
// waited for or right after, so that its id cannot be another's yet.
func (p *process) killGroup() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// lockedWriter serialises the writes to a buffer that a test may read meanwhile.
type lockedWriter struct {
	mu  *sync.Mutex
	buf *bytes.Buffer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}
