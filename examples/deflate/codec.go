//go:build cgo && libdeflate

package deflate

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// What [Error] is, for errors.Is.
var (
	ErrCorrupt  = errors.New("deflate: the data are no DEFLATE stream, or damaged, or cut off")
	ErrTooSmall = errors.New("deflate: the data are larger than the buffer for them")
)

var errMemory = errors.New("deflate: no memory for libdeflate: malloc failed")

// Error is why data were not decompressed.
type Error struct {
	Result  Result // what libdeflate says
	In, Out int    // sizes of the data and of the buffer
}

func (e *Error) Error() string {
	if e.Result == InsufficientSpace {
		return fmt.Sprintf("deflate: %d bytes decompress to more than the buffer of %d holds: give a larger one, or refuse the data", e.In, e.Out)
	}
	return fmt.Sprintf("deflate: %d bytes are no DEFLATE stream, or damaged, or cut off", e.In)
}

// Is reports whether target is the sentinel of e.
func (e *Error) Is(target error) bool {
	if e.Result == InsufficientSpace {
		return target == ErrTooSmall
	}
	return target == ErrCorrupt
}

// Levels of compression.
const (
	Fastest      = 1
	DefaultLevel = 6
	Smallest     = 12
)

// Codec compresses and decompresses raw DEFLATE. Any goroutine may use it, any number at a time:
// each call takes a compressor or decompressor of its own from a pool. What the pool drops is
// freed when the collector finds it. A compressor is 0.2 to 9 MB of C's memory, by its level, which
// Go's limits do not see.
type Codec struct {
	level         int
	leaf          int // bytes
	cgo           bool
	compressors   sync.Pool // of *handle[*compressor]
	decompressors sync.Pool // of *handle[*decompressor]
}

// New returns a Codec that compresses at a level from [Fastest] to [Smallest].
func New(level int) (*Codec, error) {
	if level < Fastest || level > Smallest {
		return nil, fmt.Errorf("deflate: level %d is not from %d to %d", level, Fastest, Smallest)
	}
	return &Codec{level: level, leaf: leafBytes(level)}, nil
}

// leafBytes returns the size up to which compression is a leaf: the worst of text, noise, zeros and
// two letters at random takes some 100 µs, and 200 µs at most (BenchmarkLongestLeaf). Beyond it the
// call is long enough that ordinary cgo costs nothing that could be measured.
func leafBytes(level int) int {
	switch {
	case level <= 3:
		return 16 << 10
	case level <= 6:
		return 4 << 10
	case level <= 9:
		return 1 << 10
	}
	return 512
}

// handle owns a compressor or decompressor of C, and frees it when it is dropped.
type handle[P comparable] struct{ p P }

func newHandle[P comparable](p P, free func(P)) (*handle[P], error) {
	var none P
	if p == none {
		return nil, errMemory
	}
	h := &handle[P]{p}
	runtime.AddCleanup(h, free, p)
	return h, nil
}

// Compress appends the compressed src to dst, and returns the extended buffer.
func (c *Codec) Compress(dst, src []byte) ([]byte, error) {
	h, _ := c.compressors.Get().(*handle[*compressor])
	if h == nil {
		var err error
		if h, err = newHandle(newCompressor(int32(c.level)), freeCompressor); err != nil {
			return dst, err
		}
	}
	defer c.compressors.Put(h)
	dst = slices.Grow(dst, int(bound(uint(len(src)))))
	out := dst[len(dst):cap(dst)]
	var n uint // it fits: never 0
	if c.cgo || len(src) > c.leaf {
		n = compressCgo(h.p, src, out)
	} else {
		n = compress(h.p, src, out)
	}
	return dst[:len(dst)+int(n)], nil
}

// Decompress decompresses src, one DEFLATE stream, into dst and returns its size there. What
// follows the stream in src is not looked at. The error is an [*Error] when it is about the data;
// dst is then in no known state.
func (c *Codec) Decompress(dst, src []byte) (int, error) {
	h, _ := c.decompressors.Get().(*handle[*decompressor])
	if h == nil {
		var err error
		if h, err = newHandle(newDecompressor(), freeDecompressor); err != nil {
			return 0, err
		}
	}
	defer c.decompressors.Put(h)
	in := decompress
	if c.cgo {
		in = decompressCgo
	}
	result, n := in(h.p, src, dst)
	if result != Success {
		return 0, &Error{result, len(src), len(dst)}
	}
	return int(n), nil
}

// CRC32 returns the IEEE CRC-32 of p after data whose CRC-32 is crc; 0 for none. It is
// hash/crc32's Update.
func CRC32(crc uint32, p []byte) uint32 {
	if len(p) == 0 {
		return crc // nil would mean to start anew
	}
	return updateCRC32(crc, p)
}

// Adler32 returns the Adler-32 of p after data whose Adler-32 is adler; 1 for none.
func Adler32(adler uint32, p []byte) uint32 {
	if len(p) == 0 {
		return adler
	}
	return updateAdler32(adler, p)
}
