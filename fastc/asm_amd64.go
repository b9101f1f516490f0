//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fastc

const leafAlign = 8 // of the stack pointer modulo 16 when a function is entered (System V ABI)

// resolvePC and slowPC return the code that the assembler calls by these names: ABI0's.
func resolvePC() uintptr
func slowPC() uintptr
