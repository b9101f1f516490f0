package machine

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// BusyLoops starts n shells that compute until the caller calls end, or this process ends.
func BusyLoops(ctx context.Context, n int) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	started := make(chan error)
	for range n {
		loops.Go(func() {
			runtime.LockOSThread() // the kernel kills the child with the thread that started it (PR_SET_PDEATHSIG)
			defer runtime.UnlockOSThread()
			c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			err := c.Start()
			started <- err
			if err == nil {
				_ = c.Wait()
			}
		})
	}
	for range n {
		err = errors.Join(err, <-started)
	}
	end = func() { cancel(); loops.Wait() }
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}
