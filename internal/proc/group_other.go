//go:build !unix

package proc

import (
	"syscall"
	"time"
)

// PeakRSS returns 0: not known here.
func (p *Process) PeakRSS() int64 { return 0 }

// CPU returns the user and system time of the ended process.
func (p *Process) CPU() time.Duration {
	if s := p.State(); s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

func attributes() *syscall.SysProcAttr { return nil }

func lockToParent() {}

// signal can only kill here: there are no groups and no SIGTERM.
func (p *Process) signal(syscall.Signal) { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }
