//go:build !unix

package proc

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

func (p *Process) signal(syscall.Signal) { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }

func (p *Process) alive() bool { return false }
