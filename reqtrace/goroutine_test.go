package reqtrace

import (
	"sort"
	"testing"
)

// TestSearchBack: it finds what sort.Search finds, wherever that is.
func TestSearchBack(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		for first := range n + 1 {
			f := func(i int) bool { return i >= first }
			if got, want := searchBack(n, f), sort.Search(n, f); got != want {
				t.Fatalf("of %d, from %d on: %d, want %d", n, first, got, want)
			}
		}
	}
}
