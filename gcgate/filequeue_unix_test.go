//go:build unix

package gcgate

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// TestFileQueueOfTheStopped stops the process that is next: it is passed over, and has its place
// again when it goes on.
func TestFileQueueOfTheStopped(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	held := acquire(t, turns)
	first := startWaiter(t, turns)
	awaitTickets(t, turns, 1)
	signal := func(s os.Signal) {
		t.Helper()
		if err := first.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer first.Process.Signal(syscall.SIGCONT) // or it is not killed at the end of the test
	var status syscall.WaitStatus
	for pid, err := 0, error(syscall.EINTR); err == syscall.EINTR || pid == 0; { // until it has stopped
		pid, err = syscall.Wait4(first.Process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if !status.Stopped() {
		t.Fatalf("it has not stopped: %v", status)
	}
	release(t, held)
	held = acquire(t, turns) // although the first one has come before
	if n := len(tickets(t, turns)); n != 1 {
		t.Errorf("%d wait, want the one that is stopped", n)
	}
	release(t, held)
	held, err := turns.TryAcquire(t.Context())
	if err != nil {
		t.Fatalf("that it is stopped was found out, and is not known: %v", err)
	}
	signal(syscall.SIGCONT)
	release(t, held)
	if line, err := first.out.ReadString('\n'); line != "held\n" {
		t.Errorf("the first said %q, %v", line, err)
	}
}
