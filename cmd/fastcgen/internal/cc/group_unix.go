//go:build unix

package cc

import (
	"os/exec"
	"syscall"
)

// killGroup gives cmd a process group of its own, which its context kills.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
