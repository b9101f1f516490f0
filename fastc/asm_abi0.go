//go:build cgo && !nofastc && (amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fastc

import "unsafe"

// codes returns the ABI0 code of resolve and leafFallback, and the code of leaf.
func codes() (resolve, fallback, leaf uintptr)

// Assembly alone refers to these.
var _, _, _ = resolve, leafFallback, watch

// siteCall counts down in s and jumps to target as asmcall does, or to watch.
//
//go:noescape
func siteCall(s *Site, arg unsafe.Pointer) int32
