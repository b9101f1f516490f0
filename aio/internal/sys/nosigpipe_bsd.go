//go:build freebsd || openbsd || netbsd || dragonfly

package sys

import "golang.org/x/sys/unix"

// noSignal makes a write fail with EPIPE and without a signal (send(2)).
const noSignal = unix.MSG_NOSIGNAL

// noSigpipe does nothing: see noSignal.
func noSigpipe(int) {}

func sendAgain(err error) bool { return err == unix.EINTR }
