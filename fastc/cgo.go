//go:build cgo

// Invariant: runtime.cgocall has this signature and is open to linkname. It is what every
// program of cgo calls, under this name (runtime/cgocall.go, go.dev/issue/67401). It keeps fn
// and arg alive, and a goroutine's stack neither grows nor shrinks while it is in it, so arg may
// point to that stack; cgo itself passes such frames.

package fastc

import (
	_ "runtime/cgo" // makes the program one of cgo: threads by pthread_create, with C's stacks
	"unsafe"
)

//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn, arg unsafe.Pointer) int32
