package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// TestGeneratorAtItsLimit: nothing is judged of a load that failed by the load generator's own
// limit, and the exit code says so.
func TestGeneratorAtItsLimit(t *testing.T) {
	l, err := load.ParseLimit("failed>1%")
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	a := &cli.App{Stdout: &out, Stderr: &said}
	c := &loadCommand{app: a, failIf: load.Limits{l}}
	load := &loadgen.Result{
		Answered: 100, Failed: 50, Statuses: map[int]int64{200: 100}, Duration: time.Second,
		Failures: []loadgen.Failure{{Class: loadgen.ClassGenerator, Count: 50, Example: "socket: too many open files"}},
	}
	code := a.Exit("load", c.report(&runfile.File{Runs: []runfile.Run{{Label: "x", Load: load}}}))
	if code != cli.ExitFailed || !strings.Contains(said.String(),
		"50 of 150 requests failed here (socket: too many open files); raise ulimit -n") ||
		strings.Contains(said.String(), "-fail-if") {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}
