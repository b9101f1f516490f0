//go:build cgo && libdeflate

package deflate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"testing"

	kflate "github.com/klauspost/compress/flate"
)

// The sizes of the README's table.
var (
	checksumSizes = []int{16, 64, 256, 1 << 10, 4 << 10, 64 << 10}
	dataSizes     = []int{200, 1 << 10, 4 << 10, 64 << 10}
)

// way is one of those that a benchmark compares, by name.
type way struct {
	name string
	run  func(b *testing.B, in []byte)
}

// benchmark runs each way on each size of text; benchstat -col /way makes the table.
func benchmark(b *testing.B, sizes []int, ways []way) {
	for _, size := range sizes {
		in := text(size)
		for _, w := range ways {
			b.Run(fmt.Sprintf("size=%d/way=%s", size, w.name), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				w.run(b, in)
			})
		}
	}
}

func BenchmarkCRC32(b *testing.B) {
	sum := func(of func(uint32, []byte) uint32) func(*testing.B, []byte) {
		return func(b *testing.B, in []byte) {
			for b.Loop() {
				of(0, in)
			}
		}
	}
	benchmark(b, checksumSizes, []way{
		{"fastc", sum(CRC32)},
		{"cgo", sum(updateCRC32Cgo)},
		{"std", sum(func(crc uint32, p []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, p) })},
	})
}

// writer is a compressor of Go.
type writer interface {
	io.WriteCloser
	Reset(io.Writer)
}

func BenchmarkCompress(b *testing.B) {
	ours := func(cgo bool) func(*testing.B, []byte) {
		return func(b *testing.B, in []byte) {
			c := newCodec(b, DefaultLevel, cgo)
			var packed []byte
			for b.Loop() {
				packed, _ = c.Compress(packed[:0], in)
			}
			b.ReportMetric(float64(len(packed))/float64(len(in)), "ratio")
		}
	}
	peer := func(w writer, err error) func(*testing.B, []byte) {
		return func(b *testing.B, in []byte) {
			var packed bytes.Buffer
			for b.Loop() {
				packed.Reset()
				w.Reset(&packed)
				_, _ = w.Write(in)
				err = w.Close()
			}
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(packed.Len())/float64(len(in)), "ratio")
		}
	}
	benchmark(b, dataSizes, []way{
		{"fastc", ours(false)},
		{"cgo", ours(true)},
		{"std", peer(flate.NewWriter(io.Discard, 6))},
		{"klauspost", peer(kflate.NewWriter(io.Discard, 6))},
	})
}

func BenchmarkDecompress(b *testing.B) {
	ours := func(cgo bool) func(*testing.B, []byte) {
		return func(b *testing.B, in []byte) {
			c, packed, out := newCodec(b, DefaultLevel, cgo), deflated(b, in), make([]byte, len(in))
			for b.Loop() {
				if n, err := c.Decompress(out, packed); n != len(in) {
					b.Fatal(n, err)
				}
			}
		}
	}
	peer := func(r io.ReadCloser) func(*testing.B, []byte) {
		return func(b *testing.B, in []byte) {
			packed, out := deflated(b, in), make([]byte, len(in))
			src := bytes.NewReader(nil)
			for b.Loop() {
				src.Reset(packed)
				if err := r.(flate.Resetter).Reset(src, nil); err != nil {
					b.Fatal(err)
				}
				if n, err := io.ReadFull(r, out); err != nil {
					b.Fatal(n, err)
				}
			}
		}
	}
	benchmark(b, dataSizes, []way{
		{"fastc", ours(false)},
		{"cgo", ours(true)},
		{"std", peer(flate.NewReader(nil))},
		{"klauspost", peer(kflate.NewReader(nil))},
	})
}

// BenchmarkLongestLeaf has the calls that are still leaves and take longest: they are what the
// limits of size in calls.go and leafBytes stand on.
func BenchmarkLongestLeaf(b *testing.B) {
	d := newDecompressor()
	defer freeDecompressor(d)
	for name, in := range map[string][]byte{
		"hostile": hostile(1 << 10 / 12),
		"zeros":   deflated(b, make([]byte, 64<<10)),
	} {
		out := make([]byte, 64<<10)
		b.Run("decompress/"+name, func(b *testing.B) {
			for b.Loop() {
				if result, _ := decompress(d, in, out); result != Success {
					b.Fatal(result)
				}
			}
		})
	}
	for level := Fastest; level <= Smallest; level++ {
		c := newCompressor(int32(level))
		out := make([]byte, bound(uint(leafBytes(level))))
		for name, in := range samples(leafBytes(level)) {
			b.Run(fmt.Sprintf("compress/level=%d/%s", level, name), func(b *testing.B) {
				for b.Loop() {
					compress(c, in, out)
				}
			})
		}
		freeCompressor(c)
	}
}
