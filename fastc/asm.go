//go:build cgo && !nofastc && (((amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)) || (ppc64le && linux))

// Invariant: runtime.asmcgocall(fn, arg unsafe.Pointer) int32 is in runtime.goexit's assembly file,
// takes its arguments as [asmcall] passes them, and runs fn on the thread's system stack. discover
// checks the first, selfTest the rest.

package fastc

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// target is the code that asmcall jumps to: resolve at first, then what choose stored.
var target uintptr

func init() { target, _, _ = codes() } // not in the declaration, because resolve refers to target

// asmcall jumps to target with its own frame.
//
//go:noescape
func asmcall(fn, arg unsafe.Pointer) int32

// probe calls the code at pc as asmcall would. Code of the register-based calling convention finds
// its arguments too, so that selfTest recognises it without a crash.
//
//go:noescape
func probe(pc uintptr, fn, arg unsafe.Pointer) int32

// leafFrame is the frame of leaf, an assembly function of C's calling convention. leaf stores its
// stack pointer in sp and returns in + 1.
type leafFrame struct {
	in int32
	sp uintptr
}

func call(fn, arg unsafe.Pointer) int32 { return asmcall(fn, arg) }

func resolve(fn, arg unsafe.Pointer) int32 {
	chosen()
	return asmcall(fn, arg)
}

func leafFallback(fn, arg unsafe.Pointer) int32 { return leafByCgo(fn, arg) }

var (
	once sync.Once
	way  choice
)

func chosen() choice {
	once.Do(choose)
	return way
}

func choose() {
	pc, source, err := find(selfTest)
	if err != nil {
		_, fallback, _ := codes()
		atomic.StoreUintptr(&target, fallback)
		way.source = fmt.Sprintf("runtime.cgocall: %v (%s %s/%s)", err, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return
	}
	atomic.StoreUintptr(&target, pc)
	way = choice{short: true, source: source}
}

func find(test func(pc uintptr) error) (pc uintptr, source string, err error) {
	switch v := os.Getenv("FASTC"); v { //nolint:forbidigo // what people set when calls go wrong
	case "", "on":
	case "off":
		return 0, "", fmt.Errorf("FASTC=off")
	default:
		return 0, "", fmt.Errorf("FASTC=%s is neither on nor off", v)
	}
	done := make(chan struct{})
	go func() { // a goroutine's last caller is goexit, and its stack is small
		defer close(done)
		if pc, source, err = discover(entryName, maxSteps); err == nil {
			err = test(pc)
		}
	}()
	<-done
	return pc, source, err
}

const (
	entryName  = "runtime.asmcgocall"
	anchorName = "runtime.goexit"
	maxSteps   = 64 // functions between the two; 12 on amd64, 5 on arm64 in Go 1.26
)

// discover walks from goexit back to entry, over at most that many functions. The compiler's
// wrapper for Go's other calling convention has the same name, but no assembly file.
func discover(entry string, most int) (pc uintptr, source string, err error) {
	pcs := make([]uintptr, 16)
	pcs = pcs[:runtime.Callers(0, pcs)]
	if len(pcs) == 0 {
		return 0, "", fmt.Errorf("no callers are visible")
	}
	anchor := runtime.FuncForPC(pcs[len(pcs)-1])
	if anchor.Name() != anchorName {
		return 0, "", fmt.Errorf("a goroutine's first function is %q, not %s", anchor.Name(), anchorName)
	}
	file, _ := anchor.FileLine(anchor.Entry())
	for f, steps := anchor, 1; steps <= most; steps++ {
		if f = runtime.FuncForPC(f.Entry() - 1); f == nil {
			break
		}
		if f.Name() != entry {
			continue
		}
		if in, _ := f.FileLine(f.Entry()); in == file {
			return f.Entry(), fmt.Sprintf("%s, %d functions before %s in %s (%s %s/%s)",
				entry, steps, anchorName, path.Base(file), runtime.Version(), runtime.GOOS, runtime.GOARCH), nil
		}
	}
	return 0, "", fmt.Errorf("no %s within %d functions before %s in %s", entry, most, anchorName, path.Base(file))
}

// selfTest calls leaf through pc and checks its result and its stack.
func selfTest(pc uintptr) error {
	const (
		in   = 20261121
		near = 64 << 10
	)
	align := uintptr(0) // of the stack pointer at a function's beginning, modulo 16
	if runtime.GOARCH == "amd64" {
		align = 8
	}
	_, _, leaf := codes()
	f := leafFrame{in: in}
	got := probe(pc, *(*unsafe.Pointer)(unsafe.Pointer(&leaf)), unsafe.Pointer(&f))
	here := uintptr(unsafe.Pointer(&f))
	switch {
	case f.sp == 0:
		return fmt.Errorf("%s did not call its function", entryName)
	case got != in+1:
		return fmt.Errorf("%s did not return what its function returned", entryName)
	case max(f.sp, here)-min(f.sp, here) < near:
		return fmt.Errorf("%s did not change the stack", entryName)
	case f.sp%16 != align:
		return fmt.Errorf("%s did not align the stack", entryName)
	}
	return nil
}
