//go:build unix && !linux

package proc

import (
	"syscall"
)

// waitExit reaps the process, because kill(2) counts a zombie and alive would never be false. A
// signal just after the group's last process ended may reach another group.
func (p *Process) waitExit() { _ = p.reap() }

func (p *Process) alive() bool { return syscall.Kill(-p.Pid(), 0) == nil }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func lockToParent() {}
