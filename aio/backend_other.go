//go:build !linux && !darwin && !freebsd && !openbsd && !netbsd && !dragonfly

package aio

import (
	"runtime"

	"evenkeel.dev/aio/internal/proactor"
)

func open(o Options) (proactor.Backend, error) {
	return nil, &UnsupportedError{
		Feature: "backend " + o.Backend.String(),
		Need:    "Linux, macOS, FreeBSD, OpenBSD, NetBSD or DragonFly BSD; this is " + runtime.GOOS,
	}
}
