//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// TestInterruptedCompiler interrupts the command while the C compiler works.
func TestInterruptedCompiler(t *testing.T) {
	testutil.Slow(t, "runs a C compiler")
	temp := t.TempDir()
	dir := folder(t, map[string]string{"add.go": declare("", "")})
	started := filepath.Join(dir, "started")
	cc := filepath.Join(dir, "cc")
	// It lasts as long as the test. A process that outlives the test would keep the standard error of go
	// test, and whoever reads that waits for it.
	script := "#!/bin/sh\n: >\"$TMPDIR/left\"\n: >" + started + "\nwhile [ -e \"$0\" ]; do sleep 0.1; done\n"
	if err := os.WriteFile(cc, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	t.Setenv("CC", cc)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	begin := time.Now()
	if r := call(ctx, filepath.Join(dir, "add.go")); r.code != exitInterrupted {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
	if took := time.Since(begin); took > 5*time.Minute {
		t.Errorf("took %s: it waited for the compiler, which lasts as long as the test", took)
	}
	if left := list(t, temp); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	if _, err := os.Stat(started); err != nil {
		t.Error(err)
	}
}
