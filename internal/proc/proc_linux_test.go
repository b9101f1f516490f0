package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
	awaitGone(t, child)
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

// TestOutputHeldByAnEscaped has a grandchild in a session of its own hold standard error open:
// it cannot be killed with the group, and must not be waited for.
func TestOutputHeldByAnEscaped(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	p, escaped := shell(t, `setsid sh -c 'echo $$ >&2; exec sleep 1000' & sleep .2; exit 4`)
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
	before := descriptors(t)
	for range 10 {
		run()
	}
	for end := time.Now().Add(patience); descriptors(t) > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, %d before", descriptors(t), before)
		}
	}
}

func descriptors(t *testing.T) int {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
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
	for range 250 {
		// Until its exec the child is a copy of this process.
		if peak = p.PeakRSS(); peak > 0 && peak < size/4 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if peak <= 0 || peak >= size/4 {
		t.Errorf("peak resident set of sleep(1): %d bytes, the parent has %d", peak, len(big))
	}
	if err := p.Stop(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(big)
}
