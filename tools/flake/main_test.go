package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(busyEnv) != "" {
		beBusy()
	}
	os.Exit(m.Run())
}

// TestFlake runs scripts in the place of test binaries: one that fails in the second round, one that never does.
func TestFlake(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := script("good", "echo $GOMAXPROCS >>procs\n")
	bad := script("bad", "[ $GOMAXPROCS != 2 ] || { echo '--- FAIL: TestX'; exit 1; }\n")
	list := filepath.Join(dir, "list")
	text := fmt.Sprintf("evenkeel.dev/good\t%s\t%s\nevenkeel.dev/a/bad\t%s\t%s\n", dir, good, dir, bad)
	if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	failures, err := flake(t.Context(), list, 4, 2, 1, dir)
	if err != nil {
		t.Fatal(err)
	}
	if failures != 1 {
		t.Errorf("%d failures, want the one of round 2", failures)
	}
	if procs, _ := os.ReadFile(filepath.Join(dir, "procs")); string(procs) != "1\n2\n4\n1\n" {
		t.Errorf("GOMAXPROCS was %q", procs)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, "a-bad-round2.log")); !strings.Contains(string(out), "FAIL: TestX") {
		t.Errorf("kept %q of the failure", out)
	}
}

func TestInterrupted(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("p\t.\t/bin/false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if failures, err := flake(ctx, list, 3, 1, 1, t.TempDir()); err == nil || failures != 0 {
		t.Errorf("got %d failures and %v, want no failure and that it was interrupted", failures, err)
	}
}

func TestReadList(t *testing.T) {
	for _, text := range []string{"", "p\tdir\n", "p dir binary\n"} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := readList(file); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}
