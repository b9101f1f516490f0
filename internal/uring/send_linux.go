package uring

import (
	"evenkeel.dev/internal/proactor"
	"evenkeel.dev/internal/sys"
)

// shutWrite ends the sending side by a system call: a ring would hand it to another thread
// (io_shutdown in io_uring/net.c), though it does not wait.
func shutWrite(op *proactor.Op) bool {
	if errno := sys.ShutWrite(int(op.Desc.Num)); errno != 0 {
		op.Err = errno
	}
	return true
}
