package child

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// TestGroupIsKilledBeforeItsLeaderIsReaped: afterwards the number may be somebody else's.
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
