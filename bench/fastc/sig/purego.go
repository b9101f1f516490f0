//go:build cgo

package sig

/*
#include "sig.h"
*/
import "C"

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

var (
	pureAdd2      func(a, b int64) int64
	pureAdd6      func(a, b, c, d, e, f int64) int64
	pureAddDouble func(a, b float64) float64
	pureDot       func(a, b *float64, n uintptr) float64
	pureCross     func(a, b Vec) Vec
)

func init() {
	purego.RegisterFunc(&pureAdd2, uintptr(unsafe.Pointer(C.sig_add2)))
	purego.RegisterFunc(&pureAdd6, uintptr(unsafe.Pointer(C.sig_add6)))
	purego.RegisterFunc(&pureAddDouble, uintptr(unsafe.Pointer(C.sig_adddouble)))
	purego.RegisterFunc(&pureDot, uintptr(unsafe.Pointer(C.sig_dot)))
	purego.RegisterFunc(&pureCross, uintptr(unsafe.Pointer(C.sig_cross)))
}

func puregoAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = pureAdd2(sum, i)
	}
	return float64(sum)
}

func puregoAdd6(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = pureAdd6(sum, 2, 3, 4, 5, i)
	}
	return float64(sum)
}

func puregoAddDouble(n int) float64 {
	var sum float64
	for range n {
		sum = pureAddDouble(sum, 2)
	}
	return sum
}

func puregoDot(n int) float64 {
	a, b := [8]float64{1, 2, 3, 4, 5, 6, 7, 8}, [8]float64{8, 7, 6, 5, 4, 3, 2, 1}
	for range n {
		a[0] = pureDot(&a[0], &b[0], 8) * 1e-3
	}
	return a[0]
}

func puregoCross(n int) float64 {
	v, w := Vec{1, 2, 3}, Vec{0.3, 0.2, 0.1}
	for range n {
		v = pureCross(v, w)
	}
	return float64(v.X)
}
