//go:build unix || windows

package cputime

import (
	"testing"
	"time"
)

// TestProcess: the time rises while the process works, and not by itself.
func TestProcess(t *testing.T) {
	before := Process()
	if before < 0 {
		t.Fatalf("%v", before)
	}
	for deadline := time.Now().Add(time.Minute); Process() <= before; {
		if time.Now().After(deadline) {
			t.Fatalf("%v after a minute's work, %v before", Process(), before)
		}
	}
}
