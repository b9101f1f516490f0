package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// TestResults tests that a test that did not end counts as failed.
func TestResults(t *testing.T) {
	const events = `{"Action":"start"}
{"Action":"run","Test":"A"}
{"Action":"run","Test":"A/h1"}
{"Action":"output","Test":"A/h1","Output":"wrong\n"}
{"Action":"fail","Test":"A/h1"}
{"Action":"run","Test":"A/h2"}
{"Action":"pass","Test":"A/h2"}
{"Action":"fail","Test":"A"}
{"Action":"run","Test":"AB"}
{"Action":"skip","Test":"AB"}
{"Action":"run","Test":"C"}
{"Action":"output","Test":"C","Output":"panic\n"}
{"Action":"run","Test":"D"}
{"Action":"output","Test":"D","Output":"=== PAUSE D\n"}
{"Action":"fail"}
`
	r := newResults()
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]int{"pass": 1, "skip": 1, "fail": 1, "": 2} {
		if n := r.count(action); n != want {
			t.Errorf("%d tests ended with %q, want %d", n, action, want)
		}
	}
	if got := slices.Sorted(maps.Keys(r.failures())); !slices.Equal(got, []string{"A/h1", "C"}) {
		t.Errorf("%v failed", got)
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
		_, err := (&binary{path: script, races: filepath.Join(dir, "race"), dir: dir}).run(ctx)
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

// TestRace tests that the race detector's reports are printed.
func TestRace(t *testing.T) {
	b := binary{races: filepath.Join(t.TempDir(), "race")}
	if err := os.WriteFile(b.races+".17", []byte("WARNING: DATA RACE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"exit status 1\nWARNING: DATA RACE\n", "exit status 1\n"} {
		r := newResults()
		r.output[""] = "exit status 1\n"
		if err := b.race(r); err != nil || r.output[""] != want {
			t.Errorf("%q, %v", r.output[""], err)
		}
	}
}
