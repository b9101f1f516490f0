//go:build cgo

package sig

// By the technique of fastcgo: see package gzero.

/*
#include "sig.h"

// Frames and shims by hand, as the users of fastcgo wrote them.
struct own_add2 { int64_t a, b, ret; };
struct own_add6 { int64_t a, b, c, d, e, f, ret; };
struct own_adddouble { double a, b, ret; };
struct own_dot { const double *a, *b; size_t n; double ret; };
struct own_cross { struct sig_vec a, b, ret; };

int32_t own_add2(void *p) { struct own_add2 *f = p; f->ret = sig_add2(f->a, f->b); return 0; }
int32_t own_add6(void *p) { struct own_add6 *f = p; f->ret = sig_add6(f->a, f->b, f->c, f->d, f->e, f->f); return 0; }
int32_t own_adddouble(void *p) { struct own_adddouble *f = p; f->ret = sig_adddouble(f->a, f->b); return 0; }
int32_t own_dot(void *p) { struct own_dot *f = p; f->ret = sig_dot(f->a, f->b, f->n); return 0; }
int32_t own_cross(void *p) { struct own_cross *f = p; f->ret = sig_cross(f->a, f->b); return 0; }
int32_t own_crash(void *p) { (void)p; sig_crash(); return 0; }
*/
import "C"

import (
	"unsafe"

	"evenkeel.dev/bench/fastc/gzero"
)

var (
	ownAdd2      = unsafe.Pointer(C.own_add2)
	ownAdd6      = unsafe.Pointer(C.own_add6)
	ownAddDouble = unsafe.Pointer(C.own_adddouble)
	ownDot       = unsafe.Pointer(C.own_dot)
	ownCross     = unsafe.Pointer(C.own_cross)
	ownCrash     = unsafe.Pointer(C.own_crash)
)

// CrashByTechnique ends the program with a segmentation fault in C, called by gzero.
func CrashByTechnique() {
	var frame int64
	gzero.Call(ownCrash, unsafe.Pointer(&frame))
}

func techniqueAdd2Once(a, b int64) int64 {
	var f C.struct_own_add2
	f.a, f.b = C.int64_t(a), C.int64_t(b)
	gzero.Call(ownAdd2, unsafe.Pointer(&f))
	return int64(f.ret)
}

func techniqueAdd6Once(a, b, c, d, e, g int64) int64 {
	var f C.struct_own_add6
	f.a, f.b, f.c, f.d, f.e, f.f = C.int64_t(a), C.int64_t(b), C.int64_t(c), C.int64_t(d), C.int64_t(e), C.int64_t(g)
	gzero.Call(ownAdd6, unsafe.Pointer(&f))
	return int64(f.ret)
}

func techniqueAddDoubleOnce(a, b float64) float64 {
	var f C.struct_own_adddouble
	f.a, f.b = C.double(a), C.double(b)
	gzero.Call(ownAddDouble, unsafe.Pointer(&f))
	return float64(f.ret)
}

func techniqueDotOnce(a, b []float64) float64 {
	var f C.struct_own_dot
	f.a, f.b, f.n = (*C.double)(unsafe.Pointer(unsafe.SliceData(a))), (*C.double)(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(a))
	gzero.Call(ownDot, unsafe.Pointer(&f))
	return float64(f.ret)
}

func techniqueCrossOnce(a, b C.struct_sig_vec) C.struct_sig_vec {
	var f C.struct_own_cross
	f.a, f.b = a, b
	gzero.Call(ownCross, unsafe.Pointer(&f))
	return f.ret
}

func techniqueAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = techniqueAdd2Once(sum, i)
	}
	return float64(sum)
}

func techniqueAdd6(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = techniqueAdd6Once(sum, 2, 3, 4, 5, i)
	}
	return float64(sum)
}

func techniqueAddDouble(n int) float64 {
	var sum float64
	for range n {
		sum = techniqueAddDoubleOnce(sum, 2)
	}
	return sum
}

func techniqueDot(n int) float64 {
	a, b := [8]float64{1, 2, 3, 4, 5, 6, 7, 8}, [8]float64{8, 7, 6, 5, 4, 3, 2, 1}
	for range n {
		a[0] = techniqueDotOnce(a[:], b[:]) * 1e-3
	}
	return a[0]
}

func techniqueCross(n int) float64 {
	v, w := C.struct_sig_vec{1, 2, 3}, C.struct_sig_vec{0.3, 0.2, 0.1}
	for range n {
		v = techniqueCrossOnce(v, w)
	}
	return float64(v.x)
}

var techniques = [5]func(n int) float64{techniqueAdd2, techniqueAdd6, techniqueAddDouble, techniqueDot, techniqueCross}
