//go:build linux

package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"evenkeel.dev/bench/harness"
)

// TestQuick runs each case for a moment: all ways answer, and no run fails.
func TestQuick(t *testing.T) {
	names := map[string]bool{}
	for _, c := range cases() {
		if names[c.Name] || !strings.Contains(c.Name, "/") || c.What == "" {
			t.Errorf("case %q: its name is taken or is not group/name, or it does not say what it measures", c.Name)
		}
		names[c.Name] = true
	}
	new(harness.Full).Run(t, cases()...)
}

var update = flag.Bool("update", false, "write docs/benchmarks.md")

// TestPage compares docs/benchmarks.md with the results.
func TestPage(t *testing.T) {
	const name = "../docs/benchmarks.md"
	var out bytes.Buffer
	h := &harness.Harness{Cases: cases(), Out: &out}
	if err := h.Page("results"); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, out.Bytes()) {
		t.Errorf("%s is not what -page prints; run go test -run TestPage . -update in bench", name)
	}
}
