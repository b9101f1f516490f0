//go:build linux

package main

import (
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
	harness.RunTest(t, false, cases()...)
}
