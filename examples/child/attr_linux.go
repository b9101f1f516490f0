package child

import "syscall"

// attributes also has the kernel kill the child when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

const (
	idPid   = 1
	wExited = 0x4
	wNoWait = 0x01000000
)

// reap waits for the end of the child, kills those that it left behind, and only then takes its
// state. As long as the child is a zombie no other process can have its number, or its group's.
func (c *Child) reap() {
	for {
		if _, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPid, uintptr(c.Pid()), 0, wExited|wNoWait, 0,
			0); errno != syscall.EINTR {
			break
		}
	}
	c.killGroup()
	c.end()
	_ = c.cmd.Wait()
}
