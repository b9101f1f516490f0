//go:build linux

package harness

import (
	"testing"
	"time"
)

// RunTest runs each case in a subtest: for a moment, or in full. A run that fails is an error, and
// so is a claim that is missed in full. It saves nothing.
func RunTest(t *testing.T, full bool, cases ...Case) {
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	h := &Harness{Cases: cases, Quick: !full, Bin: t.TempDir(), Patience: 2 * time.Minute}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			h.Out, h.missed = t.Output(), nil
			if err := h.Run(t.Context(), c.Name); err != nil {
				t.Error(err)
			}
			for _, f := range h.missed {
				t.Errorf("%s: %s, want %s", f.Name, f.text(), f.Target)
			}
		})
	}
}
