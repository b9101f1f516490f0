// Package machine reads proc(5), pins processes to cores, and waits for a quiet machine.
package machine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// Memory returns a field of /proc/meminfo in bytes, or 0.
func Memory(name string) int64 {
	var kib int64
	_, _ = fmt.Sscanf(Field("/proc/meminfo", name), "%d kB", &kib)
	return kib << 10
}

// Field returns the value of a "name : value" line of a file of proc(5), or "".
func Field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if k, v, _ := strings.Cut(sc.Text(), ":"); strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

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
