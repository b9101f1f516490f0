//go:build !cgo || nofastc || !((amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly))

package fastc

import "unsafe"

func siteCall(s *Site, arg unsafe.Pointer) int32 {
	cell := uintptr(unsafe.Pointer(&s)) >> 11 % uintptr(len(s.countdowns)) // by the stack, as in assembly
	if s.trusted.Load() != 0 && s.countdowns[cell].left.Add(-1) > 0 {
		return call(s.fn, arg)
	}
	return watch(s, arg)
}
