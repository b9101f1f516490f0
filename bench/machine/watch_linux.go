package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"evenkeel.dev/reqtrace"
)

// WatchThreads notes every 10 ms how long the threads of a process have run and waited for a CPU.
// It goes on until the caller calls end.
func WatchThreads(pid int) (end func() *reqtrace.CPU) {
	stop, done := make(chan struct{}), make(chan *reqtrace.CPU)
	go func() {
		cpu := &reqtrace.CPU{}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for more := true; more; {
			cpu.Moments = append(cpu.Moments, reqtrace.CPUMoment{At: time.Now(), Threads: threads(pid)})
			select {
			case <-tick.C:
			case <-stop:
				more = false
			}
		}
		done <- cpu
	}()
	return func() *reqtrace.CPU {
		close(stop)
		return <-done
	}
}

// threads reads the times of all threads (Documentation/scheduler/sched-stats.rst), except those
// that end during the read.
func threads(pid int) (list []reqtrace.ThreadTime) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		b, err := os.ReadFile(filepath.Join(dir, t.Name(), "schedstat"))
		id, err2 := strconv.ParseInt(t.Name(), 10, 64)
		if err != nil || err2 != nil {
			continue
		}
		var ran, waited int64
		if n, _ := fmt.Sscan(string(b), &ran, &waited); n == 2 {
			list = append(list, reqtrace.ThreadTime{ID: id, Ran: time.Duration(ran), Waited: time.Duration(waited)})
		}
	}
	return list
}
