package machine

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestCoreIsOfThoseAllowed: where only the last core may be used, the first of those is that one, by both ways to name it.
func TestCoreIsOfThoseAllowed(t *testing.T) {
	last := runtime.NumCPU() - 1
	want, err := CoreList(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := Pinned(last, func() error {
		return Pinned(0, func() error { // of the thread, which has one
			out, err := exec.Command("sh", "-c", "grep Cpus_allowed_list /proc/$$/status").Output()
			if got := strings.TrimSpace(strings.TrimPrefix(string(out), "Cpus_allowed_list:")); err == nil && got != want {
				err = fmt.Errorf("it may use %s, want %s", got, want)
			}
			return err
		})
	}); err != nil {
		t.Error(err)
	}
	if list, err := CoreList(last + 1); err == nil {
		t.Errorf("core %s of %d", list, last+1)
	}
}
