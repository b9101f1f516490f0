//go:build cgo

// Invariant: runtime.cgocall has this signature, is open to linkname (go.dev/issue/67401), and
// keeps fn and arg alive.

package fastc

import (
	_ "runtime/cgo" // makes the program one of cgo: threads by pthread_create, with C's stacks
	"unsafe"
)

// cgocall moves arg and all that it points to to the heap. If C calls back into Go, the goroutine's
// stack may move. The heap does not.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn, arg unsafe.Pointer) int32

// cgocallLeaf leaves arg in place. Without a callback the stack does not move during the call,
// because the goroutine is in a system call (runtime/stack.go, isShrinkStackSafe).
//
//go:linkname cgocallLeaf runtime.cgocall
//go:noescape
func cgocallLeaf(fn, arg unsafe.Pointer) int32
