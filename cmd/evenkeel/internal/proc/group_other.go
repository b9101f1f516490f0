//go:build !unix

package proc

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

func lockToParent() {}

// signal can only kill here: there are no groups and no SIGTERM.
func (p *Process) signal(syscall.Signal) { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }

func (p *Process) waitExit() { p.reap() }

// alive knows of nobody but the process itself.
func (p *Process) alive() bool { return false }
