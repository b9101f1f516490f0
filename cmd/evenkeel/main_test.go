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
	"testing"

	"go.uber.org/goleak"
)

// Programs that TestMain builds: the command itself, and testdata/server.
var binary, testServer string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "evenkeel-test-")
	if err == nil {
		err = build(dir)
	}
	// A program built for the race detector sleeps at its end otherwise.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}), goleak.IgnoreTopFunction("os/signal.loop"))
}

func build(dir string) error {
	binary, testServer = filepath.Join(dir, "evenkeel"), filepath.Join(dir, "server")
	race := []string{}
	if raceEnabled {
		race = append(race, "-race")
	}
	for _, args := range [][]string{
		append(race, "-o", binary, "."),
		{"-o", testServer, "./testdata/server"},
	} {
		if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// result is what a call of the command gave.
type result struct {
	stdout, stderr string
	code           int
}

// call runs the command in this process.
func call(args ...string) result {
	var out, err bytes.Buffer
	a := &app{stdout: &out, stderr: &err}
	code := a.main(context.Background(), args)
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
