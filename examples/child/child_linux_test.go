package child

import (
	"fmt"
	"os"
	"regexp"
	"sync"
	"syscall"
	"testing"
)

// After a group is killed, its number may be another's.
func TestGroupIsKilledBeforeItsLeaderIsReaped(t *testing.T) {
	var mu sync.Mutex
	killed, strays := 0, 0
	kill = func(pid int, s syscall.Signal) error {
		mu.Lock()
		defer mu.Unlock()
		killed++
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", -pid)); err != nil {
			strays++
		}
		return syscall.Kill(pid, s)
	}
	defer func() { kill = syscall.Kill }()
	for _, script := range []string{"exit 0", "sleep 1000 & exit 0", "exec sleep 1000"} {
		c, err := Start(t.Context(), Options{Args: []string{"sh", "-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		if script == "exec sleep 1000" {
			c.Kill()
		}
		<-c.Exited()
		mu.Lock()
		before := killed
		mu.Unlock()
		c.Kill()
		mu.Lock()
		if before == 0 || killed != before || strays > 0 {
			t.Errorf("%q: %d signals, %d after the end, %d to nobody it knows", script, before, killed-before, strays)
		}
		mu.Unlock()
	}
}

// early is the output, and notes what was found before it.
type early struct {
	a     *awaited
	found int
}

func (e *early) Write(p []byte) (int, error) {
	e.found += len(e.a.found)
	return len(p), nil
}

// TestAwaitedLineIsInTheOutput tests that the output has the line when it is found.
func TestAwaitedLineIsInTheOutput(t *testing.T) {
	a := &awaited{match: regexp.MustCompile(`listening at (\S+)`), found: make(chan string, 1)}
	to := &early{a: a}
	a.to = to
	if _, err := a.Write([]byte("recording at x\nlistening at y\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-a.found; got != "y" || to.found > 0 {
		t.Errorf("%q was found before the output had it", got)
	}
}
