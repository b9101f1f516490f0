//go:build unix && !linux

package child

import "syscall"

func lowAttributes() *syscall.SysProcAttr { return nil }

func lowerPriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest)
	limitCPU()
}
