package matrix

// #include "matrix.h"
import "C"

import "unsafe"

// MultiplyCgo is Multiply through ordinary cgo, written by hand.
func MultiplyCgo(a, b, out []float64, n, loops int) {
	if n < 0 || n > MaxSize || min(len(a), len(b), len(out)) < n*n {
		panic("matrix.MultiplyCgo: requires n >= 0 && n <= MaxSize && min(len(a), len(b), len(out)) >= n * n")
	}
	C.matrix_multiply(double(a), double(b), double(out), C.int64_t(n), C.int64_t(loops))
}

func double(m []float64) *C.double { return (*C.double)(unsafe.SliceData(m)) }

func AddCgo(a, b int64) int64 { return int64(C.matrix_add(C.int64_t(a), C.int64_t(b))) }
