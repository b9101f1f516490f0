//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fastc

import "unsafe"

const leafAlign = 0 // of the stack pointer modulo 16 when a function is entered (AAPCS64)

// codes returns the ABI0 code of resolve and slow, and the code of leaf.
func codes() (resolve, slow, leaf uintptr)

// Assembly alone refers to these.
var _, _, _ = resolve, slow, watch

// siteCall counts down in s and jumps to target as asmcall does, or to watch.
//
//go:noescape
func siteCall(s *Site, arg unsafe.Pointer) int32
