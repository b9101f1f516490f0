//go:build cgo

// Package sig has C functions, and loops that call each of them in each way.
package sig

//go:generate go run evenkeel.dev/cmd/fastcgen fast.go

/*
#cgo CFLAGS: -O2 -Wall
#include "sig.h"
*/
import "C"

// Signatures name the C functions.
var Signatures = [5]string{"add2", "six int64", "add double", "dot of 8", "struct by value"}

// Loops call each function n times, by way. From C is the limit. Each call takes the last one's
// result, or a compiler could leave calls out. nil: not on this platform, or as the first signature.
var Loops = map[string][5]func(n int) float64{
	"C":                   {cAdd2, cAdd6, cAddDouble, cDot, cCross},
	"cgo":                 {cgoAdd2, cgoAdd6, cgoAddDouble, cgoDot, cgoCross},
	"fastc":               {fastAdd2, fastAdd6, fastAddDouble, fastDot, fastCross},
	"fastc with a budget": {measuredAdd2}, // through a Site
	"purego":              {puregoAdd2, puregoAdd6, puregoAddDouble, puregoDot, puregoCross},
	"fastcgo's technique": techniques,
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
