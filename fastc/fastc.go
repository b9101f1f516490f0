package fastc

import "unsafe"

// Call runs the C function fn, which is int32_t fn(void *frame), with arg as its frame and
// returns its value. It runs on the thread's system stack without telling the scheduler: no
// other goroutine gets this processor, and no stop of the world completes, until fn returns.
// fn must therefore be a leaf: it neither blocks nor calls back into Go, and its time is bounded.
//
// arg does not escape: the frame may live on the goroutine's stack, and it and all Go memory it
// points to stays where it is during the call. C must keep no pointer to any of it.
//
// Where the short way is not available ([Available]), Call goes through cgo, and fn must be a leaf all the
// same. Any goroutine may call it, any number at a time; what fn itself touches is the caller's business.
//
// Call is never inlined: where it begins the goroutine can be preempted, and nothing below it can
// be. A loop of calls would keep its processor for good, and hold up every stop of the world.
//
//go:noinline
func Call(fn, arg unsafe.Pointer) int32 { return call(fn, arg) }

// Slow runs fn as ordinary cgo does. The scheduler knows of the call, so fn may block, take any time, and
// call back into Go. arg escapes: the frame and all that it points to are on the heap. C must keep no
// pointer to any of it. Slow returns -1 when the program was built without cgo.
func Slow(fn, arg unsafe.Pointer) int32 { return cgocall(fn, arg) }

// leafByCgo calls a leaf through cgo and leaves its frame on the stack. It panics when the stack has moved,
// which only a callback into Go does: C may have written to the freed one.
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

// Available reports whether [Call] takes the short way. The answer is found once, at the first
// call of this function, of [Call] or of [Source], and stays.
func Available() bool { return chosen().short }

// Source says, for a log or a bug report, which function [Call] goes through and why.
func Source() string { return chosen().source }

// choice is the way that Call takes.
type choice struct {
	short  bool
	source string
}
