//go:build !unix && !windows

package child

import "syscall"

func lowAttributes() *syscall.SysProcAttr { return nil }

func lowerPriority() {}
