//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"

	"evenkeel.dev/bench/harness"
)

// TestQuick runs each case for a moment: all ways answer, and no run fails.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	h := &harness.Harness{Cases: cases(), Quick: true, Bin: t.TempDir()}
	names := map[string]bool{}
	for _, c := range h.Cases {
		if names[c.Name] || !strings.Contains(c.Name, "/") || c.What == "" {
			t.Errorf("case %q: its name is taken or is not group/name, or it does not say what it measures", c.Name)
		}
		names[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			h.Out = &out
			if err := h.Run(t.Context(), c.Name); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}
