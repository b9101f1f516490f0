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
	m := machine{}
	m.add(nil)
	m.add(&runfile.Disturbance{Window: 2e9, Other: gctrace.Of(1.)})
	if got := m.String(); got != "" {
		t.Errorf("a quiet machine: %q", got)
	}
	m.quota = float64(runtime.NumCPU())
	if got := m.String(); got != "" {
		t.Errorf("a quota of all processors: %q", got)
	}
	m.quota = .5
	m.add(&runfile.Disturbance{Window: 2e9, Other: gctrace.Of(61.7), Steal: gctrace.Of(2.2)})
	if got := m.String(); got != fmt.Sprintf("a CPU quota allows 0.5 of %s and other programs take 62%% of the "+
		"processors and the hypervisor takes 2%%", textfmt.Plural(runtime.NumCPU(), "processor")) {
		t.Errorf("got %q", got)
	}
}
