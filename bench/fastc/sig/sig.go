//go:build cgo

// Package sig has C functions, and loops that call each of them in each way.
package sig

//go:generate go run evenkeel.dev/cmd/fastcgen fast.go

/*
#cgo CFLAGS: -O2 -Wall
#include "sig.h"
*/
import "C"

// A Signature is a function and the loops that call it n times. Each call takes the last one's
// result, or a compiler could leave calls out.
type Signature struct {
	Name      string
	C         func(n int) float64 // from C: the limit
	Cgo       func(n int) float64
	Fast      func(n int) float64
	Measured  func(n int) float64 // through a Site; nil: as the first signature
	Purego    func(n int) float64
	Technique func(n int) float64 // nil: not on this platform
}

var Signatures = []Signature{
	{"add2", cAdd2, cgoAdd2, fastAdd2, measuredAdd2, puregoAdd2, techniques[0]},
	{"six int64", cAdd6, cgoAdd6, fastAdd6, nil, puregoAdd6, techniques[1]},
	{"add double", cAddDouble, cgoAddDouble, fastAddDouble, nil, puregoAddDouble, techniques[2]},
	{"dot of 8", cDot, cgoDot, fastDot, nil, puregoDot, techniques[3]},
	{"struct by value", cCross, cgoCross, fastCross, nil, puregoCross, techniques[4]},
}

func cAdd2(n int) float64      { return float64(C.sig_loop_add2(C.int64_t(n))) }
func cAdd6(n int) float64      { return float64(C.sig_loop_add6(C.int64_t(n))) }
func cAddDouble(n int) float64 { return float64(C.sig_loop_adddouble(C.int64_t(n))) }
func cDot(n int) float64       { return float64(C.sig_loop_dot(C.int64_t(n))) }
func cCross(n int) float64     { return float64(C.sig_loop_cross(C.int64_t(n))) }

func fastAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = Add2(sum, i)
	}
	return float64(sum)
}

func fastAdd6(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = Add6(sum, 2, 3, 4, 5, i)
	}
	return float64(sum)
}

func fastAddDouble(n int) float64 {
	var sum float64
	for range n {
		sum = AddDouble(sum, 2)
	}
	return sum
}

func fastDot(n int) float64 {
	a, b := [8]float64{1, 2, 3, 4, 5, 6, 7, 8}, [8]float64{8, 7, 6, 5, 4, 3, 2, 1}
	for range n {
		a[0] = Dot(a[:], b[:]) * 1e-3
	}
	return a[0]
}

func fastCross(n int) float64 {
	v, w := Vec{1, 2, 3}, Vec{0.3, 0.2, 0.1}
	for range n {
		v = Cross(v, w)
	}
	return float64(v.X)
}

func measuredAdd2(n int) float64 {
	var sum int64
	for i := range int64(n) {
		sum = MeasuredAdd2(sum, i)
	}
	return float64(sum)
}
