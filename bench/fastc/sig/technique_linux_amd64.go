//go:build cgo

package sig

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

func CrashByTechnique() {
	var frame int64
	gzero.Call(ownCrash, unsafe.Pointer(&frame))
}

func techniqueAdd2(n int) float64 {
	var f C.struct_own_add2
	for i := range n {
		f = C.struct_own_add2{a: f.ret, b: C.int64_t(i)}
		gzero.Call(ownAdd2, unsafe.Pointer(&f))
	}
	return float64(f.ret)
}

func techniqueAdd6(n int) float64 {
	var f C.struct_own_add6
	for i := range n {
		f = C.struct_own_add6{a: f.ret, b: 2, c: 3, d: 4, e: 5, f: C.int64_t(i)}
		gzero.Call(ownAdd6, unsafe.Pointer(&f))
	}
	return float64(f.ret)
}

func techniqueAddDouble(n int) float64 {
	var f C.struct_own_adddouble
	for range n {
		f = C.struct_own_adddouble{a: f.ret, b: 2}
		gzero.Call(ownAddDouble, unsafe.Pointer(&f))
	}
	return float64(f.ret)
}

func techniqueDot(n int) float64 {
	a, b := [8]C.double{1, 2, 3, 4, 5, 6, 7, 8}, [8]C.double{8, 7, 6, 5, 4, 3, 2, 1}
	for range n {
		f := C.struct_own_dot{a: &a[0], b: &b[0], n: 8}
		gzero.Call(ownDot, unsafe.Pointer(&f))
		a[0] = f.ret * 1e-3
	}
	return float64(a[0])
}

func techniqueCross(n int) float64 {
	v, w := C.struct_sig_vec{1, 2, 3}, C.struct_sig_vec{0.3, 0.2, 0.1}
	for range n {
		f := C.struct_own_cross{a: v, b: w}
		gzero.Call(ownCross, unsafe.Pointer(&f))
		v = f.ret
	}
	return float64(v.x)
}

var techniques = [5]func(n int) float64{techniqueAdd2, techniqueAdd6, techniqueAddDouble, techniqueDot, techniqueCross}
