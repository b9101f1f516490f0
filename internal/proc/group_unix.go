//go:build unix

package proc

import (
	"syscall"
	"time"
)

// PeakRSS returns the largest resident set of the ended process in bytes (getrusage(2)).
func (p *Process) PeakRSS() int64 {
	if s := p.State(); s != nil {
		if u, ok := s.SysUsage().(*syscall.Rusage); ok {
			return int64(u.Maxrss) * maxrssUnit
		}
	}
	return 0
}

// CPU returns the user and system time of the ended process.
func (p *Process) CPU() time.Duration {
	if s := p.State(); s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// signal reaches the whole group. ESRCH means that nobody is left, which is well.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.Pid(), s) }

func (p *Process) kill() { p.signal(syscall.SIGKILL) }
