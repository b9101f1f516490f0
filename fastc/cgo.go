//go:build cgo

// Invariant: runtime.cgocall has this signature and is open to linkname. Every program of cgo calls it
// under this name (runtime/cgocall.go, go.dev/issue/67401). It keeps fn and arg alive.

package fastc

import (
	_ "runtime/cgo" // makes the program one of cgo: threads by pthread_create, with C's stacks
	"unsafe"
)

// cgocall moves arg, and all that it points to, to the heap, as ordinary cgo does. When C calls back into
// Go, the goroutine's stack may move. The heap does not.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn, arg unsafe.Pointer) int32

// cgocallLeaf leaves arg where it is. Without a callback the stack neither grows nor shrinks during the
// call, because the goroutine is in a system call (runtime/stack.go, isShrinkStackSafe).
//
//go:linkname cgocallLeaf runtime.cgocall
//go:noescape
func cgocallLeaf(fn, arg unsafe.Pointer) int32
