package verdict

import (
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
)

// TestDuringErrors: one trace at a time, requests there have to be, and the trace ends whatever f does.
func TestDuringErrors(t *testing.T) {
	nothing := func() {}
	if s := new(Verdict).String(); s != "" {
		t.Errorf("the zero Verdict is %q", s)
	}
	if _, err := During(t.Context(), reqtrace.Options{}, nothing); err == nil {
		t.Error("no error without a request")
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = During(t.Context(), reqtrace.Options{}, func() { panic("f") })
	}()
	if trace.IsEnabled() {
		t.Fatal("the trace goes on after a panic")
	}
	_, err := During(t.Context(), reqtrace.Options{}, func() {
		if _, err := During(t.Context(), reqtrace.Options{}, nothing); err == nil ||
			!strings.Contains(err.Error(), "end the other trace") {
			t.Errorf("a trace within a trace: %v", err)
		}
	})
	if err == nil {
		t.Error("no error without a request")
	}
}

// TestDuringWatches tests that During knows what the kernel counted for the threads, on Linux.
func TestDuringWatches(t *testing.T) {
	v, err := During(t.Context(), reqtrace.Options{Region: "job"}, func() {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				defer trace.StartRegion(t.Context(), "job").End()
				runtime.Gosched()
			})
		}
		wg.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := v.all.Report().Machine.Threads; runtime.GOOS == "linux" && n == 0 {
		t.Error("Machine.Threads is 0")
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
