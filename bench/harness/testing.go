//go:build linux

package harness

import (
	"path/filepath"
	"testing"
	"time"
)

// RunTest runs each case in a subtest: for a moment, or in full. A run that fails is an error. In full
// a claim that is missed is one, too, and the results are saved as those of make bench.
func RunTest(t *testing.T, full bool, cases ...Case) {
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	h := &Harness{Cases: cases, Quick: !full, Bin: t.TempDir(), Patience: 2 * time.Minute}
	h.Results = filepath.Join(Root(), "bench", "results")
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
