package gaio_test

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
	"evenkeel.dev/aio/internal/sys"
)

// cpus returns the numbers of the CPUs that this process may run on.
func cpus(t *testing.T) (all []int) {
	t.Helper()
	for cpu := range 1024 {
		may, err := sys.MayRunOn(cpu)
		must(t, err)
		if may {
			all = append(all, cpu)
		}
	}
	return all
}

// TestGaioAffinity: both calls bind the thread of the goroutine in WaitIO, to each CPU that there
// is and to no other.
func TestGaioAffinity(t *testing.T) {
	allowed := cpus(t)
	for name, set := range map[string]func(*gaio.Watcher, int) error{
		"SetLoopAffinity":   (*gaio.Watcher).SetLoopAffinity,
		"SetPollerAffinity": (*gaio.Watcher).SetPollerAffinity,
	} {
		w := open(t, aio.Options{})
		here, _ := pair(t)
		for _, cpu := range allowed {
			must(t, set(w, cpu))
			must(t, w.Write(nil, here, []byte("x")))
			if got := boundTo(t, w); got != strconv.Itoa(cpu) {
				t.Errorf("%s(%d): the thread may run on %s", name, cpu, got)
			}
		}
		for cpu := range allowed[len(allowed)-1] + 2 { // the gaps, and the one after the last
			if err := set(w, cpu); (err == nil) != slices.Contains(allowed, cpu) || err != nil && err != gaio.ErrCPUID {
				t.Errorf("%s(%d), may run on %v: %v", name, cpu, allowed, err)
			}
		}
	}
}

// boundTo has a goroutine wait for one result, and returns the CPUs that its thread may run on.
// The thread ends with the goroutine, since that is locked to it.
func boundTo(t *testing.T, w *gaio.Watcher) string {
	t.Helper()
	list := make(chan string)
	go func() {
		_, err := w.WaitIO()
		text, err2 := os.ReadFile("/proc/thread-self/status")
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
		_, after, _ := strings.Cut(string(text), "Cpus_allowed_list:")
		line, _, _ := strings.Cut(after, "\n")
		list <- strings.TrimSpace(line)
	}()
	return <-list
}

// TestAffinityOfTheLastCPU runs the test above in a child that may run on the last CPU alone, as
// under taskset: there its number is beyond the count.
func TestAffinityOfTheLastCPU(t *testing.T) {
	allowed := cpus(t)
	last := allowed[len(allowed)-1]
	if last == 0 {
		t.Skip("needs a CPU whose number is not 0: this process may run on CPU 0 only")
	}
	child := child(t, "TestGaioAffinity")
	child.Args = append(child.Args, "-test.v")
	ended := make(chan error)
	go func() { // the child inherits the affinity of the thread, which ends with the goroutine
		runtime.LockOSThread()
		if err := sys.SetAffinity(last); err != nil {
			ended <- err
			return
		}
		out, err := child.CombinedOutput()
		if err == nil && !strings.Contains(string(out), "--- PASS: TestGaioAffinity") {
			err = errors.New("the child has run no test")
		}
		if err != nil {
			t.Logf("the child, on CPU %d only:\n%s", last, out)
		}
		ended <- err
	}()
	must(t, <-ended)
}
