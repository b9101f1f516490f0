//go:build unix && !linux

package proc

import "syscall"

// waitExit reaps the process. kqueue(2) would tell its end and leave it a zombie, as Linux's
// waitid does; but nothing simple would then tell whether anybody else is left in the group, since
// to kill(2) a zombie can be somebody. So from here on the group keeps its number only as long as
// anybody is in it: what is signalled in the moments after that may be another's.
func (p *Process) waitExit() { p.reap() }

// alive reports whether anybody is left in the group.
func (p *Process) alive() bool { return syscall.Kill(-p.Pid(), 0) == nil }
