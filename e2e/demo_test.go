//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/internal/testutil"
)

// demoLines bounds what make demo prints.
const demoLines = 40

// startDemo runs the demo's programs briefly, and returns when a line matches.
func startDemo(t *testing.T, until string) (c *child.Child, out, temp string) {
	t.Helper()
	evenkeel := build(t, "../cmd/evenkeel")
	build(t, "../examples/search")
	build(t, "../examples/hello")
	out, temp = t.TempDir(), t.TempDir()
	c, _ = start(t, regexp.MustCompile(until), "env", "TMPDIR="+temp, evenkeel, "demo", "-quick", "-bin", binDir,
		"-out", out)
	return c, out, temp
}

// leavesNothing wants no process and no temporary file.
func leavesNothing(t *testing.T, temp string) {
	t.Helper()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range commands {
		text, _ := os.ReadFile(name)
		for _, program := range []string{"search", "hello"} {
			if strings.HasPrefix(string(text), filepath.Join(binDir, program)+"\x00") {
				t.Errorf("a process is left: %q", strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
	}
}

func TestDemo(t *testing.T) {
	testutil.Slow(t, "builds and starts services")
	c, out, temp := startDemo(t, "^4. What next")
	waitExit(t, c)
	text, errText := c.Output()
	if !c.State().Success() || errText != "" {
		t.Errorf("%v\n%s", c.State(), errText)
	}
	for _, want := range []string{
		`(?m)^1\. Why was it slow\?`, `(?m)^87% of the extra time is waiting for a mutex\. feed\.\(\*Cache\)\.Get `,
		`(?m)^  waiting for a lock +0 `,
		`(?m)^wrote .*explain\.html`,
		`(?m)^2\. Did the fix help\?`, `(?m)^  p50 +\d`, `(?m)^explain now: `, `(?m)^wrote .*fix\.html`,
		`(?m)^3\. Garbage collection`, `(?m)^  collecting under live traffic +\d+ +\d+ +0 `,
		`(?m)^  gated +\d+ +\d+ +0 `,
		`(?m)^4\. What next`, `make demo-haproxy`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the demo does not print %q:\n%s", want, text)
		}
	}
	const ofBuild = 6
	if n := strings.Count(text, "\n"); n > demoLines-ofBuild {
		t.Errorf("%d lines, more than %d", n, demoLines-ofBuild)
	}
	for _, page := range []string{"explain.html", "fix.html"} {
		if text, err := os.ReadFile(filepath.Join(out, page)); err != nil ||
			!strings.HasPrefix(string(text), "<!DOCTYPE html>") {
			t.Errorf("%s: %v", page, err)
		}
	}
	leavesNothing(t, temp)
}

func TestDemoInterrupted(t *testing.T) {
	testutil.Slow(t, "builds and starts services")
	for _, part := range []string{"1", "2", "3"} {
		t.Run(part, func(t *testing.T) {
			c, _, temp := startDemo(t, "^"+part+`\. `)
			if err := c.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			waitExit(t, c)
			if _, errText := c.Output(); c.State().ExitCode() != 130 || !strings.Contains(errText, "evenkeel demo: ") {
				t.Errorf("exit code %d, %q", c.State().ExitCode(), errText)
			}
			leavesNothing(t, temp)
		})
	}
}

func waitExit(t *testing.T, c *child.Child) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(stopTimeout):
		t.Fatal("it goes on")
	}
}

// TestDemoHAProxy runs make demo-haproxy's script briefly, in which a busy machine may not collect.
func TestDemoHAProxy(t *testing.T) {
	server(t, "haproxy")
	build(t, "../cmd/evenkeel")
	build(t, "../examples/msgpush")
	out := t.TempDir()
	text := command(t, "env", "BIN="+binDir, "OUT="+out, "PORT="+freeServerPort(t), "LENGTH=2s", "WARMUP=1s",
		"RATE=400", "WINDOW=10000", "bash", "../examples/msgpush/demo.sh")
	for _, want := range []string{
		`(?m)^live traffic, the replica at port \d+: Entered:\d+ Overlapped:\d+ OverlappedOther:\d+$`,
		`(?m)^gated, the replica at port `, `live traffic +gated`, `(?m)^requests/s +\d`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the demo does not print %q:\n%s", want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "gate.html")); err != nil {
		t.Error(err)
	}
}
