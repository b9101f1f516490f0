package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/tools/internal/skips"
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
	good := script("good", "echo $GOMAXPROCS $5 >>procs\n")
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
	if procs, _ := os.ReadFile(filepath.Join(dir, "procs")); string(procs) != "1 -test.v=test2json\n2\n4\n1\n" {
		t.Errorf("GOMAXPROCS was %q, with a list of the tests in the first round", procs)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, "a-bad-round2.log")); !strings.Contains(string(out), "FAIL: TestX") {
		t.Errorf("kept %q of the failure", out)
	}
}

// TestNoRoundWaits: while one package still runs, the others begin the next round, and none runs beside itself.
func TestNoRoundWaits(t *testing.T) {
	dir := t.TempDir()
	var list []byte
	for name, text := range map[string]string{
		"slow":  "mkdir running || exit 1\nwhile [ ! -e twice ]; do sleep 0.01; done\nrmdir running\n", // fails beside itself
		"other": "if [ -e once ]; then touch twice; fi\ntouch once\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		list = fmt.Appendf(list, "%s\t%s\t%s\n", name, dir, file)
	}
	file := filepath.Join(dir, "list")
	if err := os.WriteFile(file, list, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := addSkips(new(skips.List), &testPackage{path: "other"}, nil); err != nil { // builds test2json, where the cache is cold
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for one that waits
	defer cancel()
	if failures, err := flake(ctx, file, 2, 3, 1, dir); err != nil || failures != 0 {
		t.Errorf("%d failures, %v", failures, err)
	}
}

// TestSkips: what tests have skipped is found between what others say meanwhile.
func TestSkips(t *testing.T) {
	const output = "\x16=== RUN   TestA\n\x16=== PAUSE TestA\n\x16=== RUN   TestB\n    b_test.go:9: note\n\x16=== CONT  TestA\n" +
		"    a_test.go:7: no qemu\n\x16--- SKIP: TestA (0.00s)\n\x16=== NAME  TestB\n    b_test.go:10: another\n\x16--- PASS: TestB (0.00s)\nPASS\n"
	var list skips.List
	if err := addSkips(&list, &testPackage{path: "evenkeel.dev/a"}, []byte(output)); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	list.Print(&got)
	if want := "skipped: 1 test: no qemu (a TestA)\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
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

// TestInterruptEndsAll has a test binary that has started others, one of them in a process group of its own.
func TestInterruptEndsAll(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("what has a group of its own is found in /proc: %v", err)
	}
	dir := t.TempDir()
	begun, binary, list := filepath.Join(dir, "begun"), filepath.Join(dir, "p.test"), filepath.Join(dir, "list")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := os.OpenFile(begun, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	script := "#!/usr/bin/env bash\nsleep 1000 &\na=$!\nset -m\nsleep 1000 &\necho $$ $a $! >" + begun + "\nwait\n"
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, fmt.Appendf(nil, "p\t%s\t%s\n", dir, binary), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := flake(ctx, list, 1, 1, 1, dir)
		ended <- err
	}()
	var pids [3]int
	_ = lines.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fscanln(bufio.NewReader(lines), &pids[0], &pids[1], &pids[2]); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it does not say that it was interrupted")
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	for _, pid := range pids {
		for end := time.Now().Add(time.Minute); runs(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("process %d of %v is still there", pid, pids)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// runs reports whether a process has not ended. One that nobody has asked about has.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && state != "" && state[0] != 'Z' && state[0] != 'X'
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
