package machine

import (
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// allowed returns the cores that a child may use.
func allowed() (string, error) {
	out, err := exec.Command("sh", "-c", "grep Cpus_allowed_list /proc/$$/status").Output()
	return strings.TrimSpace(strings.TrimPrefix(string(out), "Cpus_allowed_list:")), err
}

// TestCoreIsOfThoseAllowed: where only the last core may be used, the first of those is that one.
func TestCoreIsOfThoseAllowed(t *testing.T) {
	last := runtime.NumCPU() - 1
	if err := Pinned(last, func() error {
		want, err := allowed()
		if err != nil {
			return err
		}
		if _, err := strconv.Atoi(want); err != nil {
			return fmt.Errorf("it may use %s, want one core", want)
		}
		return Pinned(0, func() error { // of the thread, which has one
			got, err := allowed()
			if err == nil && got != want {
				err = fmt.Errorf("it may use %s, want %s", got, want)
			}
			return err
		})
	}); err != nil {
		t.Error(err)
	}
	if err := Pinned(last+1, func() error { return nil }); err == nil {
		t.Errorf("there is a core %d", last+1)
	}
}
