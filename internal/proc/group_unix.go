//go:build unix

package proc

import "syscall"

var kill = syscall.Kill

// signal reaches the group, unless its number may be another's by now.
func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		_ = kill(-p.Pid(), s)
	}
}

func (p *Process) kill() { p.signal(syscall.SIGKILL) }
