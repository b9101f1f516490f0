package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

// TestExplainCutOff: what can be read of a trace that is cut off is explained, with a warning. A
// limit that a part of the trace keeps is not kept; one that the part exceeds is exceeded.
func TestExplainCutOff(t *testing.T) {
	packed, err := os.Open("../../reqtrace/testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "cut.trace")
	if err := os.WriteFile(name, b[:len(b)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	stdout := []string{
		"% of the extra time is waiting for a mutex. main.(*cache).refresh (main.go:43)",
		"! The trace is cut off or corrupt. The report is of the ",
	}
	said := []string{"evenkeel explain: " + name + ": the trace is cut off or corrupt; take it again, and wait for " +
		"its end"}
	call("explain", name).check(t, cli.ExitOK, stdout, said)
	call("explain", "-fail-if", "gc>90%", name).check(t, cli.ExitFailed, stdout, said)
	call("explain", "-fail-if", "lock>50%", name).check(t, cli.ExitLimit, stdout, []string{"-fail-if lock>50%: it is "})
	call("explain", "-json", name).check(t, cli.ExitOK, []string{`"broken": "after `, "cut off or corrupt"}, said)

	whole, err := os.ReadFile(packed.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, whole[:len(whole)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	// gzip that is cut off
	call("explain", name).check(t, cli.ExitOK, stdout[1:], []string{"the report is of what stands before"})
}
