//go:build fastcgen && libdeflate

package deflate

/*
#cgo pkg-config: libdeflate
#include <libdeflate.h>
*/
import "C"

// compressor is libdeflate's, in C's memory. One goroutine at a time may use it.
type compressor C.struct_libdeflate_compressor

// decompressor is libdeflate's, in C's memory. One goroutine at a time may use it.
type decompressor C.struct_libdeflate_decompressor

// Result is what libdeflate says of a decompression.
type Result C.enum_libdeflate_result

// What libdeflate says.
const (
	Success           Result = C.LIBDEFLATE_SUCCESS
	BadData           Result = C.LIBDEFLATE_BAD_DATA
	ShortOutput       Result = C.LIBDEFLATE_SHORT_OUTPUT
	InsufficientSpace Result = C.LIBDEFLATE_INSUFFICIENT_SPACE
)

// newCompressor returns nil without memory, or for a level that there is not. It is no leaf:
// malloc may wait for a lock, and ask the kernel.
//
//fastc:call libdeflate_alloc_compressor(level)
//fastc:slow
func newCompressor(level int32) *compressor

// freeCompressor ends c.
//
//fastc:call libdeflate_free_compressor(c)
//fastc:slow
func freeCompressor(c *compressor)

// newDecompressor returns nil without memory.
//
//fastc:call libdeflate_alloc_decompressor()
//fastc:slow
func newDecompressor() *decompressor

// freeDecompressor ends d.
//
//fastc:call libdeflate_free_decompressor(d)
//fastc:slow
func freeDecompressor(d *decompressor)

// bound returns how long n bytes can be once they are compressed.
//
//fastc:call libdeflate_deflate_compress_bound(nil, n)
func bound(n uint) uint

// compress writes in to out and returns its size there, 0 when it does not fit. How long that
// takes depends on the level most: [leafBytes] says up to which size it is a leaf.
//
//fastc:call libdeflate_deflate_compress(c, in, len(in), out, len(out))
func compress(c *compressor, in, out []byte) uint

// compressCgo is compress by ordinary cgo.
//
//fastc:call libdeflate_deflate_compress(c, in, len(in), out, len(out))
//fastc:slow
func compressCgo(c *compressor, in, out []byte) uint

// decompress writes in to out and returns its size there. Of hostile data, a byte takes some 100 ns
// (each 12 build tables to decode nothing), so 1 KiB takes 100 µs; a byte to write takes 1 ns.
//
//fastc:call libdeflate_deflate_decompress(d, in, len(in), out, len(out), &size)
//fastc:slow len(in) > 1<<10 || len(out) > 64<<10
func decompress(d *decompressor, in, out []byte) (result Result, size uint)

// decompressCgo is decompress by ordinary cgo.
//
//fastc:call libdeflate_deflate_decompress(d, in, len(in), out, len(out), &size)
//fastc:slow
func decompressCgo(d *decompressor, in, out []byte) (result Result, size uint)

// updateCRC32 goes on from crc. Without the processor's help it takes up to 1 ns a byte.
//
//fastc:call libdeflate_crc32(crc, p, len(p))
//fastc:slow len(p) > 128<<10
func updateCRC32(crc uint32, p []byte) uint32

// updateCRC32Cgo is updateCRC32 by ordinary cgo.
//
//fastc:call libdeflate_crc32(crc, p, len(p))
//fastc:slow
func updateCRC32Cgo(crc uint32, p []byte) uint32

// updateAdler32 goes on from adler.
//
//fastc:call libdeflate_adler32(adler, p, len(p))
//fastc:slow len(p) > 128<<10
func updateAdler32(adler uint32, p []byte) uint32
