//go:build unix && !linux

package child

import "syscall"

// attributes puts the child into a group of its own, which no interrupt from the keyboard reaches.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
