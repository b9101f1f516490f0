//go:build !cgo || nofastc || !((amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly))

package fastc

import (
	"math/rand/v2"
	"unsafe"
)

func siteCall(s *Site, arg unsafe.Pointer) int32 {
	if s.trusted.Load() != 0 && rand.Uint32()%sampleOneIn != 0 {
		return call(s.fn, arg)
	}
	return watch(s, arg)
}
