package gctrace

import (
	"bytes"
	"testing"
)

// FuzzFindGC holds findGC against bytes.Index.
func FuzzFindGC(f *testing.F) {
	for _, s := range []string{
		"", "gc", "gc ", "0123456gc 9", "01234567gc 9", "ggc gc ", "hc gb gc\x00gc ",
		"gcgcgcgcgcgcgc ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for i := range b {
			if got, want := findGC(b[i:]), bytes.Index(b[i:], []byte("gc ")); got != want {
				t.Fatalf("findGC(%q) = %d, want %d", b[i:], got, want)
			}
		}
	})
}
