//go:build !linux && !darwin && !freebsd && !openbsd && !netbsd && !dragonfly

package aio

import (
	"errors"
	"runtime"
	"syscall"

	"evenkeel.dev/aio/internal/proactor"
)

func open(o Options) (proactor.Backend, error) {
	return nil, &proactor.MissingError{
		Feature: "backend " + o.Backend.String(),
		Need:    "Linux, macOS, FreeBSD, OpenBSD, NetBSD or DragonFly BSD; this is " + runtime.GOOS,
	}
}

// No Watcher is here that would listen.

func noDelay(string, string, syscall.RawConn) error { return errors.ErrUnsupported }
