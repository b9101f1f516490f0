//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fastc

const leafAlign = 0 // of the stack pointer modulo 16 when a function is entered (AAPCS64)

// resolvePC and slowPC return the code that the assembler calls by these names: ABI0's.
func resolvePC() uintptr
func slowPC() uintptr
