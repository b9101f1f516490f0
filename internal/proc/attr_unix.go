//go:build unix && !linux

package proc

import (
	"runtime"
	"syscall"
)

var maxrssUnit = map[bool]int64{true: 1, false: 1 << 10}[runtime.GOOS == "darwin"] // getrusage(2)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func lockToParent() {}
