package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// TestAnswer tests that a program of Options.Analyze says of a trace what the recorder itself would
// say.
func TestAnswer(t *testing.T) {
	f, err := os.Open("../../reqtrace/testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	head, err := json.Marshal(Trace{Threshold: 10 * ms, Snapshot: "s1", Build: "v1", Taken: night})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Answer(t.Context(), io.MultiReader(bytes.NewReader(append(head, '\n')), z), &out); err != nil {
		t.Fatal(err)
	}
	var e Explained
	if err := json.Unmarshal(out.Bytes(), &e); err != nil || len(e.Slow) == 0 || e.Slow[0].Snapshot != "s1" ||
		e.Slow[0].Build != "v1" {
		t.Errorf("%v, %+v", err, e)
	}
	for _, in := range []string{"", "{", "{}\n", "nonsense\ntrace"} {
		if err := Answer(t.Context(), strings.NewReader(in), &out); err == nil {
			t.Errorf("no error for input %q", in)
		}
	}
}
