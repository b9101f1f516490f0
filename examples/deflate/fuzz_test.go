//go:build cgo && libdeflate

package deflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"testing"
)

// FuzzCompress compares with compress/flate: what one compresses, both read.
func FuzzCompress(f *testing.F) {
	for _, in := range samples(300) {
		f.Add(in, uint8(5))
	}
	var codecs []*Codec
	for level := Fastest; level <= Smallest; level++ {
		codecs = append(codecs, newCodec(f, level, false))
	}
	f.Fuzz(func(t *testing.T, in []byte, level uint8) {
		c := codecs[int(level)%len(codecs)]
		packed, err := c.Compress(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := inflate(packed); err != nil || !bytes.Equal(got, in) {
			t.Fatalf("compress/flate reads %q, %v", got, err)
		}
		out := make([]byte, len(in))
		if n, err := c.Decompress(out, deflated(t, in)); err != nil || !bytes.Equal(out[:n], in) {
			t.Fatalf("%q, %v", out[:n], err)
		}
	})
}

// FuzzDecompress gives both whatever there is. They differ in one thing: libdeflate takes some
// codes that are incomplete, which no encoder writes; what compress/flate reads, it reads too.
func FuzzDecompress(f *testing.F) {
	for _, in := range samples(300) {
		f.Add(deflated(f, in))
	}
	f.Add([]byte{3, 0})
	f.Add([]byte{7})
	c := newCodec(f, Fastest, false)
	slow := newCodec(f, Fastest, true)
	f.Fuzz(func(t *testing.T, in []byte) {
		const most = 1 << 20
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(in)), most+1))
		out, out2 := make([]byte, most), make([]byte, most)
		n, err := c.Decompress(out, in)
		n2, err2 := slow.Decompress(out2, in)
		if n != n2 || (err == nil) != (err2 == nil) || !bytes.Equal(out[:n], out2[:n2]) {
			t.Fatalf("by fastc %d bytes, %v; by cgo %d, %v", n, err, n2, err2)
		}
		switch {
		case len(want) > most:
			if err == nil {
				t.Fatalf("%d bytes for more than %d", n, most)
			}
		case wantErr == nil:
			if err != nil || !bytes.Equal(out[:n], want) {
				t.Fatalf("%d bytes, %v; compress/flate reads %d", n, err, len(want))
			}
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooSmall):
			t.Fatal(err)
		}
	})
}
