//go:build amd64 && linux

// Package gzero calls C as fastcgo did. It switches to the system stack by the layout of the
// runtime's structures, without the runtime's knowledge. Do not use it.
package gzero

import "unsafe"

// Call runs the C function fn, int32_t fn(void *frame), on the thread's system stack.
//
//go:noescape
func Call(fn, frame unsafe.Pointer) int32
