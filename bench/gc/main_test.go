package main

import (
	"testing"

	"evenkeel.dev/bench/figure"
)

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("gc", "../results/gc-*.json", judge); err != nil {
		t.Error(err)
	}
}
