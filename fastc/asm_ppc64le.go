//go:build cgo && !nofastc && linux

package fastc

import "unsafe"

const leafAlign = 0 // of the stack pointer modulo 16 (OpenPOWER ELFv2 ABI)

// resolvePC and slowPC return code that takes its arguments in registers.
func resolvePC() uintptr { return codeOf(resolve) }
func slowPC() uintptr    { return codeOf(slow) }

// codeOf relies on a func value being a pointer to a word that points to the code
// (runtime2.go, funcval).
func codeOf(f func(fn, arg unsafe.Pointer) int32) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
