//go:build unix

package child_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/proc"

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
		Env: []string{"WHAT=ready"}, Ready: regexp.MustCompile(`^ready ([0-9])$`),
	})
	if out, _ := c.Output(); c.Match != "7" || c.State() != nil || !strings.Contains(out, "ready 7\n") {
		t.Errorf("match %q, state %v, output %q", c.Match, c.State(), out)
	}
	fmt.Fprintln(c.Input, "last")
	<-c.Done()
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

// TestStop stops a child gently, and one that ignores SIGTERM.
func TestStop(t *testing.T) {
	c := start(t, child.Options{Args: []string{"sh", "-c", "echo ready x; exec sleep 1000"}, Ready: ready})
	if err := c.Stop(); err != nil || c.State().Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("stop: %v, %v", err, c.State())
	}
	deaf := start(t, child.Options{Args: []string{
		"sh", "-c",
		"trap '' TERM; echo ready x; while :; do sleep 1000; done",
	}, Ready: ready, StopTimeout: time.Millisecond})
	if err := deaf.Stop(); !errors.Is(err, proc.ErrKilled) || !strings.HasPrefix(err.Error(), "sh: ") {
		t.Errorf("stop: %v", err)
	}
}

// TestLine reads lines while they come, and the last one after the end.
func TestLine(t *testing.T) {
	c := start(t, child.Options{Args: []string{"sh", "-c", "echo one; read line; echo $line; echo last"}})
	want := func(ctx context.Context, want string) {
		t.Helper()
		line, err := c.Line(ctx)
		if err != nil {
			line = err.Error()
		}
		if line != want {
			t.Errorf("%q, want %q", line, want)
		}
	}
	want(t.Context(), "one")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("enough"))
	defer cancel()
	want(ctx, "sh: enough")
	fmt.Fprintln(c.Input, "two")
	want(t.Context(), "two")
	<-c.Done()
	want(t.Context(), "last")
	want(t.Context(), "sh: ended early: exit status 0")
}

// TestOutput has the end of more than is kept, and whole lines of it.
func TestOutput(t *testing.T) {
	c := start(t, child.Options{Args: []string{"sh", "-c", "yes 1234567 | head -n 200000; echo last"}})
	<-c.Done()
	out, _ := c.Output()
	if len(out) != 1<<20 || !strings.HasSuffix(out, "1234567\nlast\n") {
		t.Errorf("%d bytes that end with %q", len(out), out[max(0, len(out)-20):])
	}
	n := 0
	for line := ""; line != "last"; n++ {
		var err error
		if line, err = c.Line(t.Context()); err != nil {
			t.Fatal(err)
		}
		if line != "1234567" && line != "last" {
			t.Errorf("line %d is %q", n, line)
		}
	}
	if want := strings.Count(out, "\n1") + 1; n != want { // the first one is torn
		t.Errorf("%d lines, want %d", n, want)
	}
}
