package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestKnown(t *testing.T) {
	list, err := parseKnown(known)
	if err != nil || len(list) == 0 {
		t.Errorf("known.txt: %v, %v", list, err)
	}
	if _, err := parseKnown("TestServe\n"); err == nil {
		t.Error("a test without a reason is taken")
	}
	if got := pattern("TestServe/h1"); got != "^TestServe$/^h1$" {
		t.Errorf("the pattern is %q", got)
	}
}

// TestOverlay tests that this Go's net/http can be hooked.
func TestOverlay(t *testing.T) {
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	nethttp := filepath.Join(strings.TrimSpace(string(goroot)), "src", "net", "http")
	if _, err := overlay(t.TempDir(), nethttp, t.TempDir()); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "server.go"), []byte("package http\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := overlay(t.TempDir(), other, t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "see how it serves now") {
		t.Errorf("of a server without Serve: %v", err)
	}
}

func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	fifo, script := filepath.Join(dir, "fifo"), filepath.Join(dir, "http.test")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec 3>'"+fifo+"'\nsleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended, opened := make(chan error, 1), make(chan error, 1)
	go func() {
		_, _, err := (&binary{path: script, dir: dir}).run(ctx)
		ended <- err
	}()
	var open *os.File
	go func() {
		var err error
		open, err = os.Open(fifo)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Fatal(err)
		}
	case err := <-ended:
		t.Fatalf("it ended before the tests began: %v", err)
	}
	defer open.Close()
	cancel()
	if _, err := io.ReadAll(open); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt is told as %v", err)
	}
}

// TestRun tests that a failed run, and one without the backend, are told from one that passed.
func TestRun(t *testing.T) {
	b := binary{path: filepath.Join(t.TempDir(), "http.test"), backend: "epoll"}
	for text, want := range map[string]int{
		"echo $NETHTTP_BACKEND": 0, "echo $NETHTTP_BACKEND; exit 1": 1, "echo $NETHTTP_BACKEND; exit 3": missing,
	} {
		if err := os.WriteFile(b.path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if out, code, err := b.run(t.Context()); out != "epoll\n" || code != want || err != nil {
			t.Errorf("%s: %q, %d, %v", text, out, code, err)
		}
	}
}
