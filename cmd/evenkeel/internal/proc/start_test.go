package proc

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestStartFailure(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"no-such-program-anywhere"}, {t.TempDir()}} {
		p, err := Start(Options{Args: args})
		if err == nil {
			t.Fatalf("Start(%q) = %v, want an error", args, p.Pid())
		}
		if len(args) > 0 && args[0] != "" && !strings.Contains(err.Error(), args[0]) {
			t.Errorf("Start(%q): %v; it does not name the program", args, err)
		}
	}
	if _, err := Start(Options{Args: []string{"no-such-program-anywhere"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v does not wrap exec.ErrNotFound", err)
	}
}
