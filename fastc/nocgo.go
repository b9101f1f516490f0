//go:build !cgo

package fastc

import "unsafe"

const whyNot = "built without cgo: there is no C to call"

// No shim of fastcgen returns -1.
func cgocall(fn, arg unsafe.Pointer) int32     { return -1 }
func cgocallLeaf(fn, arg unsafe.Pointer) int32 { return -1 }
