//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/internal/testutil"
)

// stopTimeout bounds what a test waits for: only what hangs meets it.
const stopTimeout = time.Minute

var binDir string // of what build has built; TestMain makes and removes it

func TestMain(m *testing.M) {
	if setup := os.Getenv(gatedEnv); setup != "" {
		fmt.Fprintln(os.Stderr, runGated(setup)) // it serves until it is killed
		os.Exit(1)
	}
	os.Exit(func() int {
		var err error
		if binDir, err = os.MkdirTemp("", "e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(binDir)
		code := m.Run()
		if err := endChrome(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// build compiles the package in dir, a folder relative to this one, unless a test before this one
// did, as this test is built, and returns the binary.
func build(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(binDir, filepath.Base(dir))
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	// no test debugs it
	cmd := exec.CommandContext(t.Context(), "go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", bin, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", dir, err, out)
	}
	return bin
}

// start runs bin and returns, with the first submatch, when a line of its stdout matches
// ready. The whole group is killed when the test ends.
func start(t *testing.T, ready *regexp.Regexp, bin string, args ...string) (c *child.Child, match string) {
	t.Helper()
	c, err := child.Start(t.Context(), child.Options{
		Args: append([]string{bin}, args...), Ready: ready,
		StopTimeout: stopTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		if t.Failed() {
			out, errOut := c.Output()
			t.Logf("%s\nstdout:\n%s\nstderr:\n%s", bin, out, errOut)
		}
	})
	return c, c.Match
}

// stop asks the program to end, as a service manager would, and returns its exit code.
func stop(t *testing.T, c *child.Child) int {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	return c.State().ExitCode()
}
