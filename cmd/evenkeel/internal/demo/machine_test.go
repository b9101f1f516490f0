package demo

import (
	"fmt"
	"runtime"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

func TestDemoMachine(t *testing.T) {
	quiet := &runfile.Disturbance{Window: 2e9, Other: gctrace.Of(1.)}
	if got := slowedBy(0, nil) + slowedBy(0, quiet); got != "" {
		t.Errorf("a quiet machine: %q", got)
	}
	if got := slowedBy(float64(runtime.NumCPU()), quiet); got != "" {
		t.Errorf("a quota of all processors: %q", got)
	}
	busy := &runfile.Disturbance{Window: 2e9, Other: gctrace.Of(61.7), Steal: gctrace.Of(2.2)}
	if got := slowedBy(.5, busy); got != fmt.Sprintf("a CPU quota allows 0.5 of %s and 62%% of this machine's "+
		"processor time went to processes other than evenkeel and 2%% of this machine's processor time went to its "+
		"hypervisor (steal)",
		textfmt.Plural(runtime.NumCPU(), "processor")) {
		t.Errorf("got %q", got)
	}
}
