//go:build unix

package proc

import "syscall"

// signal reaches the whole group. ESRCH means that nobody is left, which is well.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.Pid(), s) }

func (p *Process) kill() { p.signal(syscall.SIGKILL) }

// alive reports whether anybody is left in the group.
func (p *Process) alive() bool { return syscall.Kill(-p.Pid(), 0) == nil }
