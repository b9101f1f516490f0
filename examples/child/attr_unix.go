//go:build unix && !linux

package child

import "syscall"

// attributes puts the child into a group of its own, which no interrupt from the keyboard reaches.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the end of the child and kills those whom it started and left behind. The group
// keeps its number as long as any of them is there; in the moment after that it may be another's.
func (c *Child) reap() {
	_ = c.cmd.Wait() // State says how it ended
	c.killGroup()
	c.end()
}
