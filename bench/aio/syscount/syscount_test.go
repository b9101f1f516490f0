package syscount

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

func TestCount(t *testing.T) {
	c, err := Open(os.Getpid())
	if errors.Is(err, ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Skip("needs a kernel with raw_syscalls tracepoints: ", err)
	}
	const calls = 10_000
	for range 2 { // a second count starts at nothing
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range calls {
			syscall.Getppid()
		}
		n, err := c.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if n < calls || n > calls+2000 {
			t.Errorf("%d calls counted, want %d and a few of the runtime's", n, calls)
		}
	}
}

// TestThreadsThatStartMeanwhile: none is missed that another one starts before that has its counter.
func TestThreadsThatStartMeanwhile(t *testing.T) {
	c, err := Open(os.Getpid())
	if err != nil {
		t.Skip("see TestCount: ", err)
	}
	const threads, calls = 32, 1000
	do := make(chan bool)
	var started, done sync.WaitGroup
	start := sync.OnceFunc(func() {
		for range threads {
			started.Add(1)
			done.Go(func() {
				runtime.LockOSThread() // its end is the thread's
				started.Done()
				<-do
				for range calls {
					syscall.Getppid()
				}
			})
		}
		started.Wait()
	})
	open = func(event uint64, tid int) (int, error) {
		start()
		return openCounter(event, tid)
	}
	defer func() { open = openCounter }()
	err = c.Start()
	close(do)
	done.Wait()
	n, serr := c.Stop()
	if err := errors.Join(err, serr); err != nil || n < threads*calls {
		t.Errorf("%d calls counted of %d, %v", n, threads*calls, err)
	}
}
