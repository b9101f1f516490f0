//go:build cgo && !nofastc && linux

package fastc

import "unsafe"

// codes returns the ABIInternal code of resolve and leafFallback, and the code of leaf.
func codes() (first, fallback, leaf uintptr) {
	return codeOf(resolve), codeOf(leafFallback), leafCode()
}

func leafCode() uintptr

// codeOf relies on a func value being a pointer to a word that points to the code (runtime2.go).
func codeOf(f func(fn, arg unsafe.Pointer) int32) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
