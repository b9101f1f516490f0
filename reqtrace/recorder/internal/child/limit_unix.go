//go:build unix

package child

import "syscall"

// lowest is the priority that gets what others leave (setpriority(2)).
const lowest = 19

// limitCPU has the kernel end this process when it has computed for too long, and leaves no core file then.
func limitCPU() {
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: maxCPUSeconds, Max: maxCPUSeconds})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
