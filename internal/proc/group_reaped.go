//go:build unix && !linux

package proc

import "syscall"

// awaitExit reaps the process, since its end cannot be seen otherwise here. From then on its
// group keeps its number only as long as anybody is in it.
func (p *Process) awaitExit() { p.reap() }

// alive reports whether anybody is left in the group.
func (p *Process) alive() bool { return syscall.Kill(-p.Pid(), 0) == nil }
