//go:build linux

package harness

import (
	"flag"
	"path/filepath"
	"testing"
	"time"
)

// Full says whether the cases of a test are measured in full, and how long. Its fields are flags of go test.
type Full struct {
	on     *bool
	length *time.Duration
}

// TestFlags registers the flags -full and -length.
func TestFlags() Full {
	return Full{
		on:     flag.Bool("full", false, "measure each case in full, fail if it misses a claim, and save the results"),
		length: flag.Duration("length", 0, "with -full, length of a run (default: the case's own)"),
	}
}

// Run runs each case in a subtest, in full or for a moment. A run that fails is an error. In full a claim that
// is missed is one, too, and the results are saved as those of make bench.
func (f Full) Run(t *testing.T, cases ...Case) { runCases(t, *f.on, *f.length, cases) }

// RunQuick is Run for a moment.
func RunQuick(t *testing.T, cases ...Case) { runCases(t, false, 0, cases) }

func runCases(t *testing.T, full bool, length time.Duration, cases []Case) {
	if testing.Short() {
		t.Skip("builds programs and runs them")
	}
	h := &Harness{Cases: cases, Quick: !full, Length: length, Bin: t.TempDir(), Patience: 2 * time.Minute}
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
