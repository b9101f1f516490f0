package gcgate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// queueTimeout is what only a hang takes.
const queueTimeout = time.Minute

// tickets returns the names in the queue of a file, in order.
func tickets(t *testing.T, turns FileTurns) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(turns.Path + queueSuffix)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// awaitTickets waits until so many wait.
func awaitTickets(t *testing.T, turns FileTurns, n int) {
	t.Helper()
	for end := time.Now().Add(queueTimeout); ; time.Sleep(time.Millisecond) {
		names := tickets(t, turns)
		waiting := slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, newTicket) })
		if len(waiting) == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d wait, want %d: %q", len(waiting), n, names)
		}
	}
}

// acquire is Acquire within queueTimeout.
func acquire(t *testing.T, turns Queue) Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), queueTimeout)
	defer cancel()
	l, err := turns.Acquire(ctx)
	if err != nil {
		t.Error(err)
		return nil
	}
	return l
}

func TestFileQueueOrder(t *testing.T) {
	needsFlock(t)
	defer func(before time.Duration) { stoppedAfter = before }(stoppedAfter)
	stoppedAfter = time.Hour // a busy machine may stop a waiter
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	held := acquire(t, turns)
	var mu sync.Mutex
	var went []int
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() {
			l := acquire(t, turns)
			if l == nil {
				return
			}
			mu.Lock()
			went = append(went, i)
			mu.Unlock()
			release(t, l)
		})
		awaitTickets(t, turns, i+1)
	}
	release(t, held)
	running.Wait()
	if !slices.Equal(went, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("they went in the order %v", went)
	}
	if left := tickets(t, turns); len(left) > 0 {
		t.Errorf("left in the queue: %q", left)
	}
}

// TestFileQueueIsNotPassed: who does not wait does not take the turn from those who do.
func TestFileQueueIsNotPassed(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	w, err := turns.enlist()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turns.TryAcquire(t.Context()); !errors.Is(err, ErrHeld) {
		t.Errorf("while somebody waits: %v, want ErrHeld", err)
	}
	release(t, acquire(t, turns)) // w looks no more, as if its process were stopped
	if next, err := w.isNext(); !next || err != nil {
		t.Errorf("the one that was stopped has its place again: %v, %v", next, err)
	}
	w.leave()
	l, err := turns.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release(t, l)
}

// TestFileQueuePassedOver: that a process is stopped is found out once. Then it keeps nobody
// waiting, until it goes on.
func TestFileQueuePassedOver(t *testing.T) {
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	enlist := func() *ticket {
		w, err := turns.enlist()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	want := func(what string, w *ticket, want bool) {
		t.Helper()
		if next, err := w.isNext(); next != want || err != nil {
			t.Errorf("%s is next: %v, %v", what, next, err)
		}
	}
	wantFree := func(when string, free bool) {
		t.Helper()
		l, err := turns.TryAcquire(t.Context())
		if free != (err == nil) || !free && !errors.Is(err, ErrHeld) {
			t.Errorf("%s: %v", when, err)
		}
		if err == nil {
			release(t, l)
		}
	}
	stopped, second, third := enlist(), enlist(), enlist()
	defer stopped.leave()
	want("the second", second, false)
	seen := second.ahead[stopped.name]
	seen.idle = stoppedAfter
	second.ahead[stopped.name] = seen
	want("the second, which has found out", second, true)
	want("the third, behind one that waits", third, false)
	second.leave()
	want("the third, which has not looked for long", third, true)
	wantFree("while the third waits", false)
	third.leave()
	wantFree("while none but the stopped one waits", true)

	late := enlist()
	defer late.leave()
	want("the last", late, true)
	want("the one that goes on, in its place", stopped, true)
	want("the last, behind it", late, false)
	wantFree("while it waits", false)
}

// TestFileQueueContext: who gives up leaves no place behind.
func TestFileQueueContext(t *testing.T) {
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	held := acquire(t, turns)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := turns.Acquire(ctx)
		done <- err
	}()
	awaitTickets(t, turns, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, ErrHeld) {
		t.Errorf("got %v, want canceled", err)
	}
	if left := tickets(t, turns); len(left) > 0 {
		t.Errorf("left in the queue: %q", left)
	}
	release(t, held)
}

// TestFileQueueRemovesRubbish: what processes left that died between two steps.
func TestFileQueueRemovesRubbish(t *testing.T) {
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	release(t, acquire(t, turns))
	w, err := turns.enlist()
	if err != nil {
		t.Fatal(err)
	}
	w.leave()
	dir := turns.Path + queueSuffix
	old := time.Now().Add(-2 * newFor)
	for _, name := range []string{
		"00000000000000000001-7", "00000000000000000002-7", newTicket + "old",
		newTicket + "young", "unknown",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, newTicket+"old"), old, old); err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, turns))
	if left := tickets(t, turns); !slices.Equal(left, []string{newTicket + "young", "unknown"}) {
		t.Errorf("left: %q", left)
	}
}

// TestFileTurnsMany lets two of five at once, never three.
func TestFileTurnsMany(t *testing.T) {
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock"), K: 2}
	if turnCount(turns) != 2 || turnCount(FileTurns{}) != 1 || turnCount(&fakeTurns{}) != 1 {
		t.Error("TurnCount")
	}
	a, b := acquire(t, turns), acquire(t, turns)
	if _, err := turns.TryAcquire(t.Context()); !errors.Is(err, ErrHeld) {
		t.Errorf("a third: %v", err)
	}
	release(t, a)
	release(t, acquire(t, turns))
	release(t, b)
	if _, err := (FileTurns{Path: turns.Path, K: -1}).TryAcquire(t.Context()); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("K -1: %v", err)
	}
}

const fileQueueChild = "GCGATE_TEST_FILE_QUEUE"

// TestFileQueueOfTheDead kills a process that waits, and one that has come to hold the turn: both
// make place at once.
func TestFileQueueOfTheDead(t *testing.T) {
	if path := os.Getenv(fileQueueChild); path != "" {
		waitForever(path)
	}
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	held := acquire(t, turns)
	first := startWaiter(t, turns)
	awaitTickets(t, turns, 1)
	second := startWaiter(t, turns)
	awaitTickets(t, turns, 2)
	kill(t, first.Cmd)
	release(t, held)
	if line, err := second.out.ReadString('\n'); line != "held\n" { // the first one has no place
		t.Fatalf("the second said %q, %v", line, err)
	}
	if _, err := turns.TryAcquire(t.Context()); !errors.Is(err, ErrHeld) {
		t.Errorf("while the second has it: %v", err)
	}
	kill(t, second.Cmd)
	release(t, acquire(t, turns))
	if left := tickets(t, turns); len(left) > 0 {
		t.Errorf("left in the queue: %q", left)
	}
}

// waiter is a process that waits for the turn, says so when it has it, and keeps it.
type waiter struct {
	*exec.Cmd
	out *bufio.Reader
}

func startWaiter(t *testing.T, turns FileTurns) *waiter {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileQueueOfTheDead$")
	cmd.Env = append(os.Environ(), fileQueueChild+"="+turns.Path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill() // it may have ended
		cmd.Wait()
	})
	return &waiter{cmd, bufio.NewReader(out)}
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

func waitForever(path string) {
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the parent
		os.Exit(1)
	}()
	if _, err := (FileTurns{Path: path}).Acquire(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	select {}
}
