//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package aio

import (
	"evenkeel.dev/internal/poller"
	"evenkeel.dev/internal/proactor"
)

// open opens the backend that o asks for.
func open(o Options) (proactor.Backend, error) {
	if o.Backend == IOUring || o.Backend == Epoll {
		return nil, &UnsupportedError{Feature: o.Backend.String(), Need: "Linux; here use Auto or Kqueue"}
	}
	return poller.NewKqueue()
}
