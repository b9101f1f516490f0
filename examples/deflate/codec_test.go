//go:build cgo && libdeflate

package deflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// samples are data of that size: text, two letters at random, noise, zeros.
func samples(size int) map[string][]byte {
	r := rand.New(rand.NewPCG(1, uint64(size)))
	letters, noise := make([]byte, size), make([]byte, size)
	for i := range size {
		letters[i], noise[i] = "ab"[r.IntN(2)], byte(r.Uint32())
	}
	return map[string][]byte{"text": text(size), "letters": letters, "noise": noise, "zeros": make([]byte, size)}
}

// text returns answers of a service as they are kept in a log: JSON with some numbers that differ.
func text(size int) []byte {
	r := rand.New(rand.NewPCG(2, 2))
	var b bytes.Buffer
	for b.Len() < size {
		path := []string{"cgo", "blockcall", "adaptive", "stats"}[r.IntN(4)]
		fmt.Fprintf(&b, `{"time":"2026-11-21T%02d:%02d:%02dZ","id":"%08x","path":"/%s/%d/%d","status":200,"took_us":%d,"user":%d}`+"\n",
			r.IntN(24), r.IntN(60), r.IntN(60), r.Uint32(), path, 1+r.IntN(512), 1+r.IntN(9), r.IntN(5000), r.IntN(100_000))
	}
	return b.Bytes()[:size]
}

func newCodec(t testing.TB, level int, cgo bool) *Codec {
	t.Helper()
	c, err := New(level)
	if err != nil {
		t.Fatal(err)
	}
	c.cgo = cgo
	return c
}

// inflate decompresses by compress/flate.
func inflate(p []byte) ([]byte, error) { return io.ReadAll(flate.NewReader(bytes.NewReader(p))) }

// deflated compresses by compress/flate.
func deflated(t testing.TB, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		if _, err = w.Write(p); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrips(t *testing.T) {
	var codecs []*Codec
	for _, level := range []int{Fastest, DefaultLevel, 9, Smallest} {
		codecs = append(codecs, newCodec(t, level, false), newCodec(t, level, true))
	}
	for _, size := range []int{0, 1, 200, 1 << 10, 4<<10 + 1, 70_000} {
		for name, in := range samples(size) {
			theirs := deflated(t, in)
			for _, c := range codecs {
				packed, err := c.Compress([]byte("head"), in)
				if err != nil || !bytes.HasPrefix(packed, []byte("head")) {
					t.Fatalf("level %d, %d of %s: %v", c.level, size, name, err)
				}
				packed = packed[len("head"):]
				if got, err := inflate(packed); err != nil || !bytes.Equal(got, in) {
					t.Errorf("level %d, %d of %s: compress/flate reads %d bytes, %v", c.level, size, name, len(got), err)
				}
				for _, src := range [][]byte{packed, theirs, append(packed, "what follows"...)} {
					out := make([]byte, size)
					if n, err := c.Decompress(out, src); err != nil || n != size || !bytes.Equal(out, in) {
						t.Errorf("level %d, %d of %s: %d bytes, %v", c.level, size, name, n, err)
					}
				}
			}
		}
	}
}

// bitWriter writes a DEFLATE stream by hand.
type bitWriter struct {
	p []byte
	n int
}

func (w *bitWriter) put(value, width int) {
	for i := range width {
		if w.n%8 == 0 {
			w.p = append(w.p, 0)
		}
		w.p[len(w.p)-1] |= byte(value>>i&1) << (w.n % 8)
		w.n++
	}
}

// hostile returns a stream of that many blocks, 12 bytes each, that decompress to nothing: each
// describes codes of its own, for which a decoder builds its tables, and then ends.
func hostile(blocks int) []byte {
	var w bitWriter
	for i := range blocks {
		w.put(b2i(i == blocks-1), 1) // the last?
		w.put(2, 2)                  // with codes of its own:
		w.put(0, 5+5)                // 257 for literals, lengths and the end, 1 for distances,
		w.put(14, 4)                 // and 18 of the lengths of codes,
		for _, symbol := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1} {
			w.put(b2i(symbol == 18 || symbol == 1), 3) // of which two are used, by a bit each
		}
		w.put(1|127<<1, 8) // 138 symbols that do not occur,
		w.put(1|107<<1, 8) // 118 more,
		w.put(0, 1)        // the end by 1 bit,
		w.put(0, 1)        // a distance by 1 bit;
		w.put(0, 1)        // the end
	}
	return w.p
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestHostile(t *testing.T) {
	in := hostile(100)
	if got, err := inflate(in); err != nil || len(got) != 0 {
		t.Errorf("compress/flate reads %d bytes, %v", len(got), err)
	}
	if n, err := newCodec(t, DefaultLevel, false).Decompress(make([]byte, 10), in); n != 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestLevels(t *testing.T) {
	for _, level := range []int{-1, 0, 13} {
		if _, err := New(level); err == nil || !strings.Contains(err.Error(), "from 1 to 12") {
			t.Errorf("level %d: %v", level, err)
		}
	}
}

func TestCorrupt(t *testing.T) {
	c := newCodec(t, DefaultLevel, false)
	good := deflated(t, text(1000))
	out := make([]byte, 1000)
	for _, tt := range []struct {
		name string
		in   []byte
		out  []byte
		is   error
	}{
		{"nothing", nil, out, ErrCorrupt},
		{"block type 3", []byte{7}, out, ErrCorrupt},
		{"cut off", good[:len(good)/2], out, ErrCorrupt},
		{"one byte too few", good[:len(good)-1], out, ErrCorrupt},
		{"too large", good, out[:999], ErrTooSmall},
		{"no buffer", good, nil, ErrTooSmall},
	} {
		for _, c.cgo = range []bool{false, true} {
			n, err := c.Decompress(tt.out, tt.in)
			e, ok := errors.AsType[*Error](err)
			if !ok || n != 0 || !errors.Is(err, tt.is) || e.In != len(tt.in) || e.Out != len(tt.out) {
				t.Errorf("%s: %d, %v", tt.name, n, err)
			}
			if tt.is == ErrTooSmall != strings.Contains(e.Error(), "give a larger one") {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

func TestChecksums(t *testing.T) {
	for _, size := range []int{0, 1, 2, 15, 16, 17, 63, 64, 1000, 65_537, 300_000} {
		for name, in := range samples(size) {
			at := size / 3
			want := crc32.ChecksumIEEE(in)
			if got := CRC32(CRC32(0, in[:at]), in[at:]); got != want {
				t.Errorf("CRC-32 of %d of %s: %08x, want %08x", size, name, got, want)
			}
			if got := updateCRC32Cgo(0, in); size > 0 && got != want {
				t.Errorf("CRC-32 of %d of %s by cgo: %08x, want %08x", size, name, got, want)
			}
			if got, want := Adler32(Adler32(1, in[:at]), in[at:]), adler32.Checksum(in); got != want {
				t.Errorf("Adler-32 of %d of %s: %08x, want %08x", size, name, got, want)
			}
		}
	}
	if CRC32(7, nil) != 7 || Adler32(7, nil) != 7 {
		t.Error("no data change a checksum")
	}
}

// TestManyGoroutines shares one Codec. A handle in two hands would garble what it writes; by
// ordinary cgo, and with enough to do, another goroutine runs meanwhile.
func TestManyGoroutines(t *testing.T) {
	for _, cgo := range []bool{false, true} {
		c := newCodec(t, DefaultLevel, cgo)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				in := text(30_000 + 1000*i)
				out := make([]byte, len(in))
				for range 50 {
					packed, err := c.Compress(nil, in)
					if err != nil {
						t.Error(err)
						return
					}
					if n, err := c.Decompress(out, packed); err != nil || !bytes.Equal(out[:n], in) {
						t.Errorf("goroutine %d: %d bytes, %v", i, n, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}

func TestAllocations(t *testing.T) {
	c, d := newCompressor(DefaultLevel), newDecompressor()
	defer freeCompressor(c)
	defer freeDecompressor(d)
	in := text(1000)
	buf, out := make([]byte, bound(1000)), make([]byte, len(in))
	if n := testing.AllocsPerRun(100, func() {
		packed := buf[:compress(c, in, buf)]
		if result, n := decompress(d, packed, out); result != Success || n != 1000 {
			t.Errorf("result %d, %d bytes", result, n)
		}
		updateCRC32(0, in)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
