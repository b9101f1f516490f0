//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// TestInterruptedCompiler interrupts the command while the C compiler and its child work. Neither
// outlives the command.
func TestInterruptedCompiler(t *testing.T) {
	testutil.Slow(t, "runs a C compiler")
	temp := t.TempDir()
	dir := folder(t, map[string]string{"add.go": declare("", "")})
	alive := filepath.Join(dir, "alive") // both write to it for as long as they live
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	cc := filepath.Join(dir, "cc")
	script := "#!/bin/sh\n: >\"$TMPDIR/left\"\nexec 3>" + alive +
		"\n(while [ -e \"$0\" ]; do sleep 0.1; done) &\nwait\n"
	if err := os.WriteFile(cc, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	t.Setenv("CC", cc)
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan *os.File, 1)
	go func() {
		defer cancel()
		f, err := os.Open(alive) // waits for the compiler
		if err != nil {
			t.Error(err)
		}
		opened <- f
	}()
	if r := call(ctx, filepath.Join(dir, "add.go")); r.code != exitInterrupted {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
	if left := list(t, temp); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	f := <-opened
	defer f.Close()
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(f); err != nil {
		t.Errorf("the compiler's child goes on: %v", err)
	}
}
