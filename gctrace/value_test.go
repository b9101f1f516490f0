package gctrace

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestValueString: a figure is printed as what it is, alone and in what has it.
func TestValueString(t *testing.T) {
	for want, v := range map[string]fmt.Stringer{
		"0.58": Of(.58), "0": Of(0), "1.5ms": Of(1500 * time.Microsecond), "absent": Value[float64]{},
	} {
		if got := fmt.Sprint(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := fmt.Sprintf("%+v", Summary{CPUPercent: Of(.58)})
	if !strings.Contains(s, "CPUPercent:0.58") || !strings.Contains(s, "Forced:absent") {
		t.Errorf("%s", s)
	}
}
