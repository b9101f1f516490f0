package child

import "syscall"

// attributes puts the child into a group of its own, which no interrupt from the keyboard reaches,
// and has the kernel kill it when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Of waitid(2).
const (
	idPid   = 1          // P_PID
	wExited = 0x4        // WEXITED
	wNoWait = 0x01000000 // WNOWAIT
)

// reap waits for the end of the child, kills those whom it started and left behind, and only then
// takes its state: as long as it is a zombie nobody else can have its number, nor its group's.
func (c *Child) reap() {
	for {
		if _, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPid, uintptr(c.Pid()), 0, wExited|wNoWait, 0,
			0); errno != syscall.EINTR {
			break
		}
	}
	c.killGroup()
	c.end()
	_ = c.cmd.Wait() // State says how it ended
}
