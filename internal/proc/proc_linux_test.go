package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

func init() { children["parent"] = parent }

// parent starts a child that would outlive it, says its id, and waits to be killed.
func parent() {
	p, err := Start(Options{Args: []string{"sleep", "1000"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	time.Sleep(time.Hour)
}

func TestChildDiesWithItsParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child := strings.TrimSpace(line)
	time.Sleep(50 * time.Millisecond) // for a thread to end too early
	if !alive(child) {
		t.Fatal("the child was dead before its parent")
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	waitGone(t, child)
}

// TestChildOutlivesThreads ends many threads, since the kernel takes the one that started the
// child for its parent.
func TestChildOutlivesThreads(t *testing.T) {
	p, err := Start(Options{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(runtime.LockOSThread) // the thread ends with the goroutine
	}
	wg.Wait()
	select {
	case <-p.Done():
		t.Error("the child died with the thread that started it: ", p.Exit())
	case <-time.After(100 * time.Millisecond):
	}
	_ = p.Stop(canceled(), 0)
}

// TestGroupIsSignalledBeforeItsLeaderIsReaped looks at each signal that a group gets: its number
// must be its own still, and so the leader, alive or a zombie, must be there.
func TestGroupIsSignalledBeforeItsLeaderIsReaped(t *testing.T) {
	var mu sync.Mutex
	var signals, strays int
	kill = func(pid int, s syscall.Signal) error {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", -pid))
		mu.Lock()
		signals++
		if err != nil {
			strays++
		}
		mu.Unlock()
		return syscall.Kill(pid, s)
	}
	defer func() { kill = syscall.Kill }()
	for _, tt := range []struct {
		name, script string
		stop         bool
	}{
		{"it ends by itself", `echo ready >&2; exit 0`, false},
		{"it ends when told to", `echo ready >&2; exec sleep 1000`, true},
		{"what it started goes on", `sleep 1000 & echo ready >&2; exit 0`, false},
		{
			"what it started ends later",
			`sh -c 'trap "sleep .1; exit" TERM; echo ready >&2; while :; do sleep .02; done' & wait`, true,
		},
	} {
		p, _ := shell(t, tt.script)
		if tt.stop {
			if err := p.Stop(t.Context(), patience); err != nil {
				t.Errorf("%s: Stop: %v", tt.name, err)
			}
		}
		await(t, p)
		if err := p.Stop(t.Context(), patience); err != nil {
			t.Errorf("%s: Stop again: %v", tt.name, err)
		}
		mu.Lock()
		late := signals
		mu.Unlock()
		p.signal(syscall.SIGTERM) // as a Stop that was overtaken by the end
		p.kill()
		mu.Lock()
		if late != signals {
			t.Errorf("%s: %d signals after its leader was reaped", tt.name, signals-late)
		}
		if signals == 0 || strays > 0 {
			t.Errorf("%s: %d of %d signals went to a number that was free", tt.name, strays, signals)
		}
		signals, strays = 0, 0
		mu.Unlock()
	}
}

// TestOutputHeldByAnEscaped has a grandchild in a session of its own hold standard error open:
// it cannot be killed with the group, and must not be waited for.
func TestOutputHeldByAnEscaped(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	t.Parallel() // it takes the time that output is awaited
	out := filepath.Join(t.TempDir(), "out")
	p, escaped := shell(t,
		fmt.Sprintf(`setsid sh -c 'echo $$ >&2; : >%[1]s; exec sleep 1000' & `+
			`while [ ! -e %[1]s ]; do sleep .02; done; exit 4`, out))
	pid, err := strconv.Atoi(escaped)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	await(t, p)
	if p.Exit() != "exit status 4" || !alive(escaped) {
		t.Errorf("%s, grandchild alive: %v", p.Exit(), alive(escaped))
	}
}

func TestNoDescriptorIsLeft(t *testing.T) {
	run := func() {
		p, _ := shell(t, `echo ready >&2; sleep 1000`)
		_ = p.Stop(canceled(), 0)
		_, _ = Start(Options{Args: []string{"no-such-program-anywhere"}, Stderr: func(io.Reader) {}})
	}
	run() // what the runtime opens once
	opened := leaks.Files()
	for range 10 {
		run()
	}
	if left := opened(); left != "" {
		t.Error("files left open:", left)
	}
}

// TestPeakRSSIsTheChilds has a parent far larger than its child: getrusage(2) would tell the
// parent's size.
func TestPeakRSSIsTheChilds(t *testing.T) {
	const size = 128 << 20
	big := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		big[i] = 1
	}
	p, err := Start(Options{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	var peak int64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// Until its exec the child is a copy of this process.
		if peak = PeakRSS(p.Processes()); peak > 0 && peak < size/4 {
			break
		}
	}
	if peak <= 0 || peak >= size/4 {
		t.Errorf("peak resident set of sleep(1): %d bytes, the parent has %d", peak, len(big))
	}
	if err := p.Stop(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(big)
}
