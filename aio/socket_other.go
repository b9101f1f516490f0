//go:build !linux && !darwin && !freebsd && !openbsd && !netbsd && !dragonfly

package aio

import (
	"errors"
	"net"
	"syscall"
)

// No Watcher is here that would listen.

func prepare(string, bool, syscall.RawConn) error { return errors.ErrUnsupported }

func setBacklog(net.Listener, int) error { return errors.ErrUnsupported }
