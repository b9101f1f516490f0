// Package ring calls C through helpers of its own, as packages do that wrap many functions of one form.
package ring

// #include "ring.h"
import "C"

import "unsafe"

// Ring is C's, under a name of Go.
type Ring C.ring_t

// c is the pointer that C wants: to one ring.
func (r *Ring) c() *C.ring_t { return (*C.ring_t)(r) }

// orNil is the same for one that may be missing.
func (r *Ring) orNil() *C.ring_t {
	if r == nil {
		return nil
	}
	return (*C.ring_t)(r)
}

// first is where the bytes begin, or nil where there are none.
func first(bytes []byte) *C.uchar {
	if len(bytes) == 0 {
		return nil
	}
	return (*C.uchar)(&bytes[0])
}

// lower is first of other bytes than it gets.
func lower(bytes []byte) *C.uchar {
	bytes, _ = append([]byte(nil), bytes...), true
	return (*C.uchar)(&bytes[0])
}

func (r *Ring) Add(a, b *Ring)         { C.ring_add(r.c(), a.c(), b.c()) }
func (r *Ring) Unpack(bytes *[32]byte) { C.ring_unpack(r.c(), (*C.uchar)(&bytes[0])) }
func (r *Ring) Pack(bytes *[32]byte)   { C.ring_pack((*C.uchar)(&bytes[0]), r.c()) }
func (r *Ring) Many(list []Ring)       { C.ring_many(r.c(), list[0].c(), C.size_t(len(list))) }
func (r *Ring) More(list []Ring) {
	all := &list[0]
	C.ring_more(r.c(), all.c(), C.size_t(len(list)))
}
func (r *Ring) First(list []C.ring_t) { C.ring_first(r.c(), &list[0]) }
func (r *Ring) Zero() bool            { return C.ring_zero(r.orNil()) != 0 }
func (r *Ring) Hash(text, salt []byte) {
	C.ring_hash(r.c(), first(text), C.size_t(len(text)), first(salt), C.size_t(len(salt)))
}
func (r *Ring) Other(text, salt []byte)   { C.ring_other(r.c(), first(text), C.size_t(len(salt))) }
func (r *Ring) Late(text []byte)          { C.ring_late(r.c(), lower(text), C.size_t(len(text))) }
func (r *Ring) Cast(p unsafe.Pointer) int { return int(C.ring_zero((*C.ring_t)(r))) }

// View is a view of text, which C does not copy.
func View(text []byte) uint64 {
	return uint64(C.view_size(C.ring_view(first(text), C.size_t(len(text)))))
}

// None is a view of nothing.
func None() uint64 { return uint64(C.view_size(C.ring_none())) }
