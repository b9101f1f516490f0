//go:build unix && !linux

package proc

import "syscall"

func (p *Process) alive() bool { return syscall.Kill(-p.Pid(), 0) == nil }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
