//go:build cgo

// Invariant: runtime.cgocall has this signature, allows linkname (go.dev/issue/67401), and keeps fn
// and arg alive.

package fastc

import (
	_ "runtime/cgo" // makes threads by pthread_create, with C's stacks
	"unsafe"
)

// cgocall moves arg and what it points to to the heap. A callback into Go may move the goroutine's
// stack.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn, arg unsafe.Pointer) int32

// cgocallLeaf leaves arg in place. Without a callback the stack does not move, because the
// goroutine is in a system call (runtime/stack.go, isShrinkStackSafe).
//
//go:linkname cgocallLeaf runtime.cgocall
//go:noescape
func cgocallLeaf(fn, arg unsafe.Pointer) int32
