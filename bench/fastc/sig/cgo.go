//go:build cgo

package sig

/*
#include "sig.h"
*/
import "C"

import "unsafe"

// SpinCode is sig_spin_frame, whose frame is an int64.
var SpinCode = unsafe.Pointer(C.sig_spin_frame)

func cgoAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = int64(C.sig_add2(C.int64_t(sum), C.int64_t(i)))
	}
	return float64(sum)
}

func cgoAdd6(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = int64(C.sig_add6(C.int64_t(sum), 2, 3, 4, 5, C.int64_t(i)))
	}
	return float64(sum)
}

func cgoAddDouble(n int) float64 {
	var sum float64
	for range n {
		sum = float64(C.sig_adddouble(C.double(sum), 2))
	}
	return sum
}

func cgoDot(n int) float64 {
	a, b := [8]float64{1, 2, 3, 4, 5, 6, 7, 8}, [8]float64{8, 7, 6, 5, 4, 3, 2, 1}
	for range n {
		a[0] = float64(C.sig_dot((*C.double)(unsafe.Pointer(&a[0])), (*C.double)(unsafe.Pointer(&b[0])),
			C.size_t(len(a)))) * 1e-3
	}
	return a[0]
}

func cgoCross(n int) float64 {
	v, w := C.struct_sig_vec{1, 2, 3}, C.struct_sig_vec{0.3, 0.2, 0.1}
	for range n {
		v = C.sig_cross(v, w)
	}
	return float64(v.x)
}

// SlowSpin computes for ns nanoseconds.
func SlowSpin(ns int64) { C.sig_spin(C.int64_t(ns)) }
