package proc

import (
	"runtime"
	"syscall"
)

// attributes gives the child its own group. The kernel kills the child when the thread that started
// it ends (PR_SET_PDEATHSIG).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func lockToParent() { runtime.LockOSThread() }
