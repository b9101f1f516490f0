// Package golden compares what a test has made with a file of its testdata. go test -update writes
// the file.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

func Check(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s (go test -update writes it again, if the change is meant): -want +got\n%s", file, d)
	}
}

func Written(t *testing.T, name string, write func(*bytes.Buffer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	Check(t, name, b.String())
}

// JSON checks a value in JSON, with "<" and ">" as they are.
func JSON(t *testing.T, name string, value any) {
	t.Helper()
	Written(t, name, func(b *bytes.Buffer) error {
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		return e.Encode(value)
	})
}
