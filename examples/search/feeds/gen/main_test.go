package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCommitted holds the feeds in the tree to their generator.
func TestCommitted(t *testing.T) {
	for _, s := range samples {
		path := filepath.Join(t.TempDir(), s.name+".xml")
		if err := write(path, s); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", s.name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("feeds/%s.xml is not what gen writes; run go generate ./search/feeds", s.name)
		}
	}
}
