//go:build linux || darwin || openbsd || netbsd || dragonfly

package sys

import "golang.org/x/sys/unix"

const reusePort = unix.SO_REUSEPORT
