//go:build unix && !linux

package proc

import (
	"syscall"
)

// waitExit reaps the process, unlike on Linux. kill(2) counts a zombie, so alive would not know
// whether the group is empty. From here on the group keeps its number only while it has a process.
// A signal just after that may reach another group.
func (p *Process) waitExit() { p.reap() }

func (p *Process) alive() bool { return syscall.Kill(-p.Pid(), 0) == nil }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func lockToParent() {}
