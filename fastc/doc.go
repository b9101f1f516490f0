// Package fastc calls leaf functions of C without the scheduler's round trip.
//
// A call through cgo tells the scheduler that the goroutine leaves: another may take its
// processor, and the way back may lead through a queue. When the C work is a few nanoseconds to
// a few hundred microseconds of mathematics, codec, compression or cryptography, that costs
// more than the work, and now and then it is the service's tail. [Call] runs such a function on
// the thread's system stack through the runtime's own asmcgocall, as the runtime calls C for
// itself, and needs no build flag.
//
// # A leaf
//
// What is called so must be a leaf: it does not block (no lock that others hold for long, no system
// call that waits, no sleep), does not call back into Go, does not longjmp out, keeps no pointer to
// Go memory, and its time is bounded. docs/guides/fastc.md says what happens otherwise. Until the
// call returns, the goroutine cannot be preempted and the collector cannot stop the world: the time
// of the call is added to the pause. Before each call it can be. Up to some 200 µs the neighbours
// are better off than with cgo, from a millisecond on they are worse off.
//
// A [Site] measures the calls of one function and sends them through cgo when they take more than
// 10 ms beyond a budget in a second of use. It does not bound a single call: a function whose time depends on its
// input goes through [Slow] from some size on, before it is called.
//
// # Use
//
// Frames and shims are not written by hand: evenkeel.dev/cmd/fastcgen makes them, with a typed
// Go function around, from declarations.
//
// # How it works
//
// asmcgocall is not open to linkname, and Go 1.27 refuses assembly that names it
// (golang/go#79702). At its first call the package walks the function table from
// runtime.goexit, which stands in the same assembly file of the runtime, back to asmcgocall, and
// tries it on a function of its own. When it is not found, or the test fails, or where the
// environment says FASTC=off (for profiling and debugging, as a CPU profile shows fast calls as
// runtime._ExternalCode), or with the build tag nofastc, every call goes through cgo, with the
// same results. [Source] says which it is. [Slow] is runtime.cgocall, which is open to linkname. It moves the
// frame to the heap, because C that calls back into Go may move the stack.
//
// The short way exists on amd64 and arm64 under Linux, macOS and the BSDs, and on ppc64le under
// Linux; it was run on Linux: amd64, and arm64 and ppc64le under qemu-user. Importing the
// package makes a program one of cgo where cgo is on; with CGO_ENABLED=0 it builds, and there is
// no C to call.
//
// cgo's pointer checks (GODEBUG=cgocheck) and its edges for the race detector do not exist on
// the short way: two goroutines that meet only in C are not seen by -race. A segmentation fault
// in C ends the program with the trace of the Go caller, as with cgo.
package fastc
