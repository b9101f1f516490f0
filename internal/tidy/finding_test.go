package tidy_test

import (
	"testing"

	"evenkeel.dev/internal/tidy"
)

func TestFindingString(t *testing.T) {
	f := tidy.Finding{Path: "aio/loop.go", Line: 7, What: "prints", Do: "return the text"}
	if got, want := f.String(), "aio/loop.go:7: prints: return the text"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
