// Package fastc calls leaf functions of C without the scheduler's round trip.
//
// A cgo call tells the scheduler that the goroutine leaves, and the way back may lead through a
// queue. For a few microseconds of mathematics, codec or cryptography that costs more than the
// work. [Call] runs such a function on the thread's system stack through the runtime's own
// asmcgocall. It needs no build flag. evenkeel.dev/cmd/fastcgen makes the frames, the C shims and a
// typed Go function from declarations.
//
// # A leaf
//
// A leaf does not block, call back into Go, longjmp out, or keep a pointer to Go memory, and takes
// a bounded time. Until it returns, the collector cannot stop the world. Up to some 200 µs other
// goroutines are better off than with cgo. From a millisecond on they are worse off.
//
// A [Site] measures the calls of one function and sends them through cgo if they exceed a budget.
//
// # How it works
//
// Neither linkname nor assembly may name asmcgocall (golang/go#79702). At its first call the
// package walks the function table from runtime.goexit back to asmcgocall, and tests it. If that
// fails, under FASTC=off or with the build tag nofastc, every call goes through cgo with the same
// results. [Source] says which it is.
//
// The short way exists on amd64 and arm64 under Linux, macOS and the BSDs, and on ppc64le under
// Linux. With CGO_ENABLED=0 the package builds, but calls no C.
//
// On the short way cgo checks no pointers (GODEBUG=cgocheck), and -race does not see goroutines
// that share data only in C. A segmentation fault in C ends the program with the trace of the Go
// caller, as with cgo.
package fastc
