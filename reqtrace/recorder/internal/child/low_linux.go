package child

import (
	"os"
	"strconv"
	"syscall"
)

// Executable is the file that this process runs, even where its path leads to another one by now.
func Executable() (string, error) { return "/proc/self/exe", nil }

func lowAttributes() *syscall.SysProcAttr { return nil }

// lowerPriority gives the process the lowest priority, has the kernel kill it rather than the service where memory ends, and bounds its
// processor time. Here a thread has a priority, which those that it starts inherit (setpriority(2)): so it goes over all of them until there
// is no new one. What fails leaves the child as it is.
func lowerPriority() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	limitCPU()
	lowered := map[int]bool{}
	for again := true; again; {
		again = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest)
			return
		}
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil && !lowered[tid] {
				_ = syscall.Setpriority(syscall.PRIO_PROCESS, tid, lowest)
				lowered[tid], again = true, true
			}
		}
	}
}
