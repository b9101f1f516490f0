//go:build amd64 && linux

// Package gzero calls C as fastcgo did: with its own switch to the system stack, by the layout
// that the runtime's structures happen to have. It is a peer of the benchmark, rewritten from
// the idea, and shows what that technique costs: the runtime does not know of the switch, and
// a crash in C is reported on the wrong stack. Do not use it.
package gzero

import "unsafe"

// Call runs the C function fn, int32_t fn(void *frame), on the system stack of the thread.
//
//go:noescape
func Call(fn, frame unsafe.Pointer) int32
