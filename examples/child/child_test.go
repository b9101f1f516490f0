//go:build unix

package child_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"

	"evenkeel.dev/examples/child"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var ready = regexp.MustCompile(`^ready (\S+)$`)

func start(t *testing.T, o child.Options) *child.Child {
	t.Helper()
	c, err := child.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

func TestReady(t *testing.T) {
	c := start(t, child.Options{
		Args: []string{
			"sh", "-c",
			"echo first; echo $WHAT now; echo $WHAT 7; echo complaint >&2; read line; echo $line",
		},
		Env: []string{"WHAT=ready"}, Ready: regexp.MustCompile(`^ready ([0-9])$`), Input: true,
	})
	if c.Match != "7" || c.State() != nil {
		t.Errorf("match %q, state %v", c.Match, c.State())
	}
	fmt.Fprintln(c.Input, "last")
	<-c.Exited()
	stdout, stderr := c.Output()
	if stdout != "first\nready now\nready 7\nlast\n" || stderr != "complaint\n" || c.State().ExitCode() != 0 {
		t.Errorf("%v\nstdout:\n%s\nstderr:\n%s", c.State(), stdout, stderr)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("stop after the end: %v", err)
	}
}

func TestNotReady(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("not wanted any more"))
	for _, tt := range []struct {
		name, script, says string
		ctx                context.Context
		limit              time.Duration
	}{
		{
			"it ends", "echo hello; echo no such flag >&2; exit 7", "sh: ended early: exit status 7\nno such flag",
			t.Context(), 0,
		},
		{"it says nothing", "exec sleep 100", "sh: not ready after 1ms", t.Context(), time.Millisecond},
		{"the start is given up", "exec sleep 100", "sh: not wanted any more", ctx, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := child.Start(tt.ctx,
				child.Options{Args: []string{"sh", "-c", tt.script}, Ready: ready, ReadyTimeout: tt.limit})
			if err == nil || !strings.HasPrefix(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
	if _, err := child.Start(t.Context(),
		child.Options{Args: []string{filepath.Join(t.TempDir(), "none")}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestGroup ends a child that leaves another one behind, and one that ignores SIGTERM.
func TestGroup(t *testing.T) {
	c := start(t, child.Options{Args: []string{
		"sh", "-c",
		"sleep 1000 >/dev/null 2>&1 & echo ready $!; exec sleep 1000",
	}, Ready: ready})
	if err := c.Stop(); err != nil || c.State().Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("stop: %v, %v", err, c.State())
	}
	for left := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(filepath.Join("/proc", c.Match, "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") { // or there is no /proc
			break
		}
		if time.Now().After(left) {
			t.Fatalf("what the child had started is left: %s", stat)
		}
	}
	deaf := start(t, child.Options{Args: []string{
		"sh", "-c",
		"trap '' TERM; echo ready x; while :; do sleep 1000; done",
	}, Ready: ready, StopTimeout: time.Millisecond})
	if err := deaf.Stop(); err == nil || err.Error() != "sh was killed: it had not ended 1ms after SIGTERM" {
		t.Errorf("stop: %v", err)
	}
}
