package proc

import (
	"runtime"
	"syscall"
)

// attributes puts the child into a group of its own and has the kernel kill it when the
// thread that started it ends (prctl(2), PR_SET_PDEATHSIG).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// lockToParent keeps the calling goroutine's thread alive until the goroutine ends.
func lockToParent() { runtime.LockOSThread() }
