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

func setNoDelay(int, bool) error                  { return errors.ErrUnsupported }
func setKeepAlive(int, net.KeepAliveConfig) error { return errors.ErrUnsupported }
func setLinger(int, int) error                    { return errors.ErrUnsupported }
