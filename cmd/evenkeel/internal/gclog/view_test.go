package gclog

import (
	"testing"
	"time"

	"evenkeel.dev/gctrace"
)

// TestGCViewRestart shows the last minute of the process that runs now, not of the one before.
func TestGCViewRestart(t *testing.T) {
	v := &view{follow: true}
	for n := range int64(5) {
		v.see(gctrace.Cycle{N: n + 1, At: time.Duration(n) * time.Hour})
	}
	if n := len(v.recent[""]); n != 1 {
		t.Errorf("%d collections of the last minute, want 1", n)
	}
	v.see(gctrace.Cycle{N: 6, At: 4*time.Hour + time.Second})
	v.see(gctrace.Cycle{N: 1, At: time.Second})
	if recent := v.recent[""]; len(recent) != 1 || recent[0].N != 1 {
		t.Errorf("the view has %+v, want the new process's first collection alone", v.recent)
	}
}
