//go:build cgo

// Package leaf has the C functions of fastc's tests and Example. Test files cannot use cgo, and a
// package with cgo cannot hold assembly.
package leaf

/*
#cgo CFLAGS: -O2 -Wall
#include <errno.h>
#include <stdint.h>
#include <stddef.h>
#include <time.h>

struct add_frame { int64_t a, b, sum; };
struct dot_frame { const double *a, *b; size_t n; double dot; };
struct spin_frame { int64_t ns; uint64_t turns; };
struct deep_frame { int64_t bytes; int64_t sum; };
struct gate_frame { int64_t ns; int32_t entered, open, left; };

int32_t leaf_nop(void *frame) { (void)frame; return 0; }

int32_t leaf_add(void *frame) {
	struct add_frame *f = frame;
	f->sum = f->a + f->b;
	return 0;
}

int32_t leaf_low(void *frame) { return (int32_t)*(int64_t *)frame; }

int32_t leaf_dot(void *frame) {
	struct dot_frame *f = frame;
	double dot = 0;
	for (size_t i = 0; i < f->n; i++) dot += f->a[i] * f->b[i];
	f->dot = dot;
	return 0;
}

// leaf_spin computes for ns nanoseconds.
int32_t leaf_spin(void *frame) {
	struct spin_frame *f = frame;
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		f->turns++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec < f->ns);
	return 0;
}

// leaf_turn counts down without a clock: some 20 us for 20,000.
int32_t leaf_turn(void *frame) {
	for (volatile int64_t left = *(int64_t *)frame; left > 0;) left--;
	return 0;
}

// leaf_gate computes until another thread opens the gate, and returns 0, or 1 after ns.
int32_t leaf_gate(void *frame) {
	struct gate_frame *f = frame;
	struct spin_frame step = {f->ns / 1000, 0};
	int32_t shut = 1;
	__atomic_store_n(&f->entered, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 1000 && shut; i++) {
		leaf_spin(&step);
		shut = !__atomic_load_n(&f->open, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&f->left, 1, __ATOMIC_SEQ_CST);
	return shut;
}

int32_t leaf_deep(void *frame) {
	struct deep_frame *f = frame;
	volatile char on_stack[f->bytes];
	for (int64_t i = 0; i < f->bytes; i += 4096) on_stack[i] = 1;
	for (int64_t i = 0; i < f->bytes; i += 4096) f->sum += on_stack[i];
	return 0;
}

// leaf_sleep breaks the rule: it blocks. It returns errno.
int32_t leaf_sleep(void *frame) {
	struct timespec t = {0, *(int64_t *)frame};
	return nanosleep(&t, NULL) == 0 ? 0 : errno;
}

int32_t leaf_overflow(void *frame) {
	volatile char on_stack[4096];
	on_stack[0] = 1;
	if (--*(int32_t *)frame == 0) return 0; // not before four billion: the compiler wants an end
	return leaf_overflow(frame) + on_stack[0];
}

int *volatile leaf_nowhere;
int32_t leaf_crash(void *frame) { (void)frame; *leaf_nowhere = 1; return 0; }

int32_t leaf_fuse(void *frame) {
	if (--*(int64_t *)frame <= 0) *leaf_nowhere = 1;
	return 0;
}
*/
import "C"

import "unsafe"

// The functions. Each names its frame.
var (
	Nop      = unsafe.Pointer(C.leaf_nop)      // any frame
	Add      = unsafe.Pointer(C.leaf_add)      // *AddFrame
	Low      = unsafe.Pointer(C.leaf_low)      // *int64, of which it returns the low 32 bits
	Dot      = unsafe.Pointer(C.leaf_dot)      // *DotFrame
	Spin     = unsafe.Pointer(C.leaf_spin)     // *SpinFrame
	Turn     = unsafe.Pointer(C.leaf_turn)     // *int64, turns of a nanosecond or so each
	Gate     = unsafe.Pointer(C.leaf_gate)     // *GateFrame
	Deep     = unsafe.Pointer(C.leaf_deep)     // *DeepFrame
	Sleep    = unsafe.Pointer(C.leaf_sleep)    // *int64, nanoseconds below a second
	Crash    = unsafe.Pointer(C.leaf_crash)    // any frame; a segmentation fault
	Overflow = unsafe.Pointer(C.leaf_overflow) // *int32, 0; a segmentation fault
	Fuse     = unsafe.Pointer(C.leaf_fuse)     // *int64, less one a call; a segmentation fault at 0
)

// AddFrame is the frame of [Add]: Sum = A + B.
type AddFrame struct{ A, B, Sum int64 }

// DotFrame is the frame of [Dot]: the product of the N numbers at A and B.
type DotFrame struct {
	A, B *float64
	N    uintptr
	Dot  float64
}

// SpinFrame is the frame of [Spin], which computes for NS nanoseconds and counts its turns.
type SpinFrame struct {
	NS    int64
	Turns uint64
}

// DeepFrame is the frame of [Deep], which uses Bytes of the C stack.
type DeepFrame struct{ Bytes, Sum int64 }

// GateFrame is the frame of [Gate], which sets Entered, waits until Open is set or NS nanoseconds
// are over, and sets Left. Use sync/atomic.
type GateFrame struct {
	NS                  int64
	Entered, Open, Left int32
}

const (
	_ = -(unsafe.Sizeof(AddFrame{}) ^ C.sizeof_struct_add_frame)
	_ = -(unsafe.Sizeof(DotFrame{}) ^ C.sizeof_struct_dot_frame)
	_ = -(unsafe.Sizeof(SpinFrame{}) ^ C.sizeof_struct_spin_frame)
	_ = -(unsafe.Sizeof(GateFrame{}) ^ C.sizeof_struct_gate_frame)
	_ = -(unsafe.Sizeof(DeepFrame{}) ^ C.sizeof_struct_deep_frame)
)
