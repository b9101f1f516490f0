//go:build unix && !linux

package child

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the end of the child and kills those that it left behind. When all of them have
// ended, the group's number may be another's.
func (c *Child) reap() {
	_ = c.cmd.Wait()
	c.killGroup()
	c.end()
}
