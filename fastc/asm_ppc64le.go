//go:build cgo && !nofastc && linux

package fastc

import "unsafe"

const leafAlign = 0 // of the stack pointer modulo 16 (OpenPOWER ELFv2 ABI)

// codes returns the ABIInternal code of resolve and slow, and the code of leaf.
func codes() (first, cgo, leaf uintptr) { return codeOf(resolve), codeOf(slow), leafCode() }

func leafCode() uintptr

// codeOf relies on a func value being a pointer to a word that points to the code (runtime2.go).
func codeOf(f func(fn, arg unsafe.Pointer) int32) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
