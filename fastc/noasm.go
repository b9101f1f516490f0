//go:build !cgo || nofastc || !(((amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)) || (ppc64le && linux))

package fastc

import (
	"runtime"
	"unsafe"
)

func call(fn, arg unsafe.Pointer) int32 { return leafByCgo(fn, arg) }

func chosen() choice {
	return choice{source: "runtime.cgocall: " + whyNot + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"}
}
