package reqtrace

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// BenchmarkAnalyze reads a recorded trace: what a change costs is seen in its allocations, whatever
// else the machine does.
func BenchmarkAnalyze(b *testing.B) {
	packed, err := os.Open("testdata/go1.27.trace.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(b.Context(), bytes.NewReader(data), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
