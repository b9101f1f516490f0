//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package aio

import (
	"runtime"

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

func setAffinity(int) error {
	return &UnsupportedError{Feature: "CPU affinity", Need: "Linux"}
}

// mayRunOn reports whether there may be such a CPU: bind finds out.
func mayRunOn(cpu int) bool { return cpu >= 0 && cpu < runtime.NumCPU() }
