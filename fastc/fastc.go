package fastc

import "unsafe"

// Call runs the C function int32_t fn(void *frame) with arg as its frame, and returns its value. No
// other goroutine gets this processor, and no stop of the world completes, until fn returns. So fn
// must be a leaf, also if [Available] is false.
//
// arg does not escape. The frame, and the Go memory that it points to, stay in place during the
// call. C must keep no pointer to them. Any number of goroutines may use Call at a time.
//
// Call is never inlined, because the goroutine can be preempted only at its beginning. A loop of
// inlined calls would hold up every stop of the world.
//
//go:noinline
func Call(fn, arg unsafe.Pointer) int32 { return call(fn, arg) }

// Slow runs fn as ordinary cgo does, so fn may block, take any time, and call back into Go. arg and
// what it points to escape to the heap. C must keep no pointer to them. Without cgo Slow returns
// -1.
func Slow(fn, arg unsafe.Pointer) int32 { return cgocall(fn, arg) }

// leafByCgo calls a leaf through cgo and leaves its frame on the stack. It panics if a callback
// into Go has moved the stack, because C may have written to the old one.
func leafByCgo(fn, arg unsafe.Pointer) int32 {
	var here byte
	before := uintptr(unsafe.Pointer(&here))
	r := cgocallLeaf(fn, arg)
	if uintptr(unsafe.Pointer(&here)) != before {
		panic("fastc: a function called as a leaf called back into Go, and its results may be lost; " +
			"call it by Slow (fastcgen: //fastc:slow)")
	}
	return r
}

// Available reports whether [Call] takes the short way. The answer does not change.
func Available() bool { return chosen().short }

// Source says which function [Call] goes through and why, for a log.
func Source() string { return chosen().source }

type choice struct {
	short  bool
	source string
}
