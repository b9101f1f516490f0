//go:build cgo && !nofastc && (((amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)) || (ppc64le && linux))

package fastc

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"evenkeel.dev/fastc/internal/leaf"
)

// wantError fails the test unless err says text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one that says %q", err, text)
	}
}

// fresh runs f where find runs discover and selfTest: at the bottom of a goroutine.
func fresh(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func TestDiscover(t *testing.T) {
	var steps int
	fresh(func() {
		pc, source, err := discover(entryName, maxSteps)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(source, entryName+", %d functions before", &steps); err != nil || pc == 0 {
			t.Fatalf("%#x: %s: %v", pc, source, err)
		}
		if pc, _, err := discover(entryName, steps); err != nil || pc == 0 {
			t.Errorf("not found after the %d steps that it takes: %v", steps, err)
		}
		_, _, err = discover(entryName, steps-1)
		wantError(t, err, "no runtime.asmcgocall within")
		_, _, err = discover("runtime.nosuchcall", maxSteps)
		wantError(t, err, "no runtime.nosuchcall within 64 functions before runtime.goexit in asm_")
		_, _, err = discover(entryName, 1<<30)
		if err != nil {
			t.Error(err)
		}
		_, _, err = discover("runtime.nosuchcall", 1<<30) // to the first function of the program
		wantError(t, err, "no runtime.nosuchcall")
	})
}

// TestDiscoverFile holds that a function of that name in another file is passed over.
func TestDiscoverFile(t *testing.T) {
	fresh(func() {
		_, _, err := discover("runtime.main", 1<<30)
		wantError(t, err, "no runtime.main within")
	})
}

func TestDiscoverDeep(t *testing.T) {
	fresh(func() { deeper(t, 20) })
}

//go:noinline
func deeper(t *testing.T, depth int) {
	if depth > 0 {
		deeper(t, depth-1)
		return
	}
	_, _, err := discover(entryName, maxSteps)
	wantError(t, err, `a goroutine's first function is "evenkeel.dev/fastc.deeper", not runtime.goexit`)
}

func TestSelfTest(t *testing.T) {
	const (
		none      = "runtime.asmcgocall did not call its function"
		wrong     = "runtime.asmcgocall did not return what its function returned"
		sameStack = "runtime.asmcgocall did not change the stack"
		aligned   = "runtime.asmcgocall did not align the stack"
	)
	for _, c := range []struct {
		name string
		pc   uintptr
		want string
	}{
		{"stays on the stack", leaf.Stays, sameStack},
		{"returns something else", leaf.Forgets, wrong},
		{"does not call", leaf.Idle, none},
		{"does not align", leaf.Tilts, aligned},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.pc == 0 {
				t.Skip("needs a stand-in that is not written for this architecture")
			}
			fresh(func() { wantError(t, selfTest(c.pc), c.want) })
		})
	}
	t.Run("the other calling convention", func(t *testing.T) {
		idle := func(fn, arg unsafe.Pointer) int32 { return 0 }
		fresh(func() { wantError(t, selfTest(**(**uintptr)(unsafe.Pointer(&idle))), none) })
	})
	t.Run("found", func(t *testing.T) {
		fresh(func() {
			pc, _, err := discover(entryName, maxSteps)
			if err == nil {
				err = selfTest(pc)
			}
			if err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("cgocall", func(t *testing.T) { // the fallback passes too
		_, fallback, _ := codes()
		fresh(func() {
			if err := selfTest(fallback); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"", ""},
		{"on", ""},
		{"off", "FASTC=off"},
		{"0", "FASTC=0 is neither on nor off"},
		{"ON", "FASTC=ON is neither on nor off"},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Setenv("FASTC", c.value)
			pc, source, err := find(selfTest)
			if c.want != "" {
				wantError(t, err, c.want)
				return
			}
			if err != nil || pc == 0 || !strings.HasPrefix(source, "runtime.asmcgocall, ") {
				t.Errorf("%#x, %q, %v", pc, source, err)
			}
		})
	}
}

func TestFindTests(t *testing.T) {
	t.Setenv("FASTC", "")
	_, _, err := find(func(uintptr) error { return fmt.Errorf("refused") })
	wantError(t, err, "refused")
}
