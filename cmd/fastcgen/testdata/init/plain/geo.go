// Package geo calls C as ordinary packages do.
package geo

/*
#cgo CFLAGS: -O2
#cgo linux LDFLAGS: -lm
#include <stdlib.h>
#include "geo.h"
*/
import "C"

import (
	"errors"
	"unsafe"
)

func add(a, b int) int { return int(C.geo_add(C.int(a), C.int(b))) }

func sum(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return float64(C.geo_sum((*C.double)(&v[0]), C.size_t(len(v))))
}

func pack(dst, src []byte) int {
	var from *byte // of nothing, when src is empty
	if len(src) > 0 {
		from = &src[0]
	}
	n := C.geo_pack(unsafe.Pointer(&dst[0]), C.size_t(cap(dst)), unsafe.Pointer(from), C.size_t(len(src)))
	return int(n)
}

func packAt(dst []byte, at int, src []byte) int {
	return int(C.geo_pack(unsafe.Pointer(&dst[at]), C.size_t(cap(dst)-at), unsafe.Pointer(&src[0]), C.ulong(len(src))))
}

func digest(p []byte) (sum [4]byte) {
	C.geo_digest((*C.uint8_t)(unsafe.Pointer(&sum)), (*C.uint8_t)(unsafe.SliceData(p)), C.size_t(len(p)))
	return sum
}

func parse(s string) (int, bool) {
	cs := C.CString(s)
	defer C.free(unsafe.Pointer(cs))
	var value C.long
	ok := C.geo_parse(cs, &value) != 0
	return int(value), ok
}

func root(n int) (int, error) {
	r, err := C.geo_root(C.int(n))
	return int(r), err
}

func version() string { return C.GoString(C.geo_version()) }

func middle(b C.struct_box) C.point { return C.geo_middle(b) }

func within(b C.struct_box, x, y float64) bool {
	return bool(C.geo_within(&b, C.point{x: C.double(x), y: C.double(y)}))
}

func mode() int { return int(C.geo_mode(C.MODE_EXACT)) + int(C.geo_mode(C.enum_mode(0))) }

func blanks(p []byte) int {
	n := C.size_t(len(p))
	C.geo_count((*C.uchar)(unsafe.Pointer(&p[0])), &n)
	return int(n)
}

func total(points []C.point) float64 { return float64(C.geo_total(&points[0], C.int(len(points)))) }

// Index is a set of numbers in C.
type Index struct{ c *C.index_t }

// NewIndex returns an empty Index.
func NewIndex(size int) *Index { return &Index{C.index_new(C.int(size))} }

// Open does the same.
func Open(size int) (*Index, error) {
	var c *C.index_t
	if C.index_open(&c, C.int(size)) != 0 {
		return nil, errors.New("no memory")
	}
	return &Index{c}, nil
}

// Put adds a number.
func (x *Index) Put(key uint32) bool { return C.index_put(x.c, C.uint32_t(key)) == 0 }

// Len returns how many there are.
func (x *Index) Len() int { return int(C.index_size(x.c)) }

// Save writes them.
func (x *Index) Save(fd uintptr) error {
	_, err := C.index_save(x.c, C.int(fd))
	return err
}

// Close frees the Index.
func (x *Index) Close() { C.index_free(x.c) }

func scratch(n int) []byte {
	p := C.malloc(C.size_t(n))
	defer C.free(p)
	return C.GoBytes(p, C.int(n))
}
