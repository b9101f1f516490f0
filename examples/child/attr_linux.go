package child

import "syscall"

// attributes puts the child into a group of its own, which no interrupt from the keyboard reaches,
// and has the kernel kill it when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
