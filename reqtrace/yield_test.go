package reqtrace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"iter"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestYield tests that Yield gives the same requests, works only in the caller's goroutine, and
// gives way often. A trace that is cut off, or none, is what it is without Yield.
func TestYield(t *testing.T) {
	f, err := os.Open("testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	all := func(seq iter.Seq2[Request, error]) (list []Request, last error) {
		for q, err := range seq {
			if last = err; err == nil && q.Cut != CutEnd { // which come in no order
				list = append(list, q)
			}
		}
		return list, last
	}
	for name, b := range map[string][]byte{"whole": whole, "cut off": whole[:len(whole)-1000], "none": []byte("none")} {
		want, wantErr := all(Read(t.Context(), bytes.NewReader(b), Options{}))
		before, most, calls := runtime.NumGoroutine(), 0, 0
		got, gotErr := all(Read(t.Context(), bytes.NewReader(b),
			Options{Yield: func() { most, calls = max(most, runtime.NumGoroutine()), calls+1 }}))
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b Parts) bool { return a == b })); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		if (wantErr == nil) != (gotErr == nil) || errors.Is(wantErr, ErrBroken) != errors.Is(gotErr, ErrBroken) {
			t.Errorf("%s: %v, want %v", name, gotErr, wantErr)
		}
		if most > before || calls <= len(got)/4 {
			t.Errorf("%s: %d calls for %d requests, %d goroutines of %d before", name, calls, len(got), most, before)
		}
	}
}
