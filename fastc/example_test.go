//go:build cgo

package fastc_test

import (
	"fmt"
	"unsafe"

	"evenkeel.dev/fastc"
	"evenkeel.dev/fastc/internal/leaf"
)

// A call by hand; fastcgen writes the frame, the shim and a function around them.
func Example() {
	a, b := []float64{1, 2, 3}, []float64{4, 5, 6}
	var f leaf.DotFrame // struct { const double *a, *b; size_t n; double dot; }
	f.A, f.B, f.N = unsafe.SliceData(a), unsafe.SliceData(b), uintptr(len(a))
	fastc.Call(leaf.Dot, unsafe.Pointer(&f)) // int32_t leaf_dot(void *frame)
	fmt.Println(f.Dot)
	// Output: 32
}
