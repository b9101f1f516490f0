package proc

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"evenkeel.dev/internal/leaks"
)

// childEnv has the test binary act as a program of that name instead of running tests.
const childEnv = "EVENKEEL_PROC_CHILD"

var children = map[string]func(){}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		child()
		return
	}
	leaks.Main(m)
}

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
