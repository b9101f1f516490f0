package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// asCommand in the environment has the test binary be the command itself.
const asCommand = "EVENKEEL_TEST_AS_COMMAND=1"

// built is where testServer builds, for TestMain to remove.
var built struct {
	sync.Once
	dir, server string
	err         error
}

func TestMain(m *testing.M) {
	if name, value, _ := strings.Cut(asCommand, "="); os.Getenv(name) == value {
		main() // it exits
	}
	// A program built for the race detector sleeps at its end otherwise.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	code := m.Run()
	os.RemoveAll(built.dir)
	if code == 0 {
		if err := leaks.Goroutines(goleak.IgnoreTopFunction("os/signal.loop")); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// testServer builds testdata/server, once.
func testServer(t *testing.T) string {
	t.Helper()
	testutil.Slow(t, "builds and starts a service")
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "evenkeel-test-"); built.err != nil {
			return
		}
		built.server = filepath.Join(built.dir, "server")
		if out, err := exec.Command("go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", built.server,
			"./testdata/server").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build ./testdata/server: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.server
}

// thisCommand is the command evenkeel, not started.
func thisCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand)
	return cmd
}

// result is what a call of the command gave.
type result struct {
	stdout, stderr string
	code           int
}

// call runs the command in this process.
func call(args ...string) result {
	var out, err bytes.Buffer
	a := &cli.App{Stdout: &out, Stderr: &err}
	code := dispatch(context.Background(), a, args)
	return result{out.String(), err.String(), code}
}

var blanks = regexp.MustCompile(` +`)

// check compares a result with the code and with parts of its outputs; of a table's blanks
// only one counts.
func (r result) check(t *testing.T, code int, stdout, stderr []string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	table := blanks.ReplaceAllString(r.stdout, " ")
	for _, s := range stdout {
		if !strings.Contains(table, s) {
			t.Errorf("standard output lacks %q", s)
		}
	}
	for _, s := range stderr {
		if !strings.Contains(r.stderr, s) {
			t.Errorf("standard error lacks %q", s)
		}
	}
	if strings.Contains(r.stderr, "DATA RACE") || strings.Contains(r.stderr, "panic:") {
		t.Error("a race or panic")
	}
	if t.Failed() {
		t.Logf("standard output:\n%s\nstandard error:\n%s", r.stdout, r.stderr)
	}
}

// writeIn makes a file of a folder.
func writeIn(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
