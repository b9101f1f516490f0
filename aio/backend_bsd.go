//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package aio

import (
	"evenkeel.dev/aio/internal/poller"
	"evenkeel.dev/aio/internal/proactor"
)

func open(o Options) (proactor.Backend, error) {
	if o.Backend == BackendIOUring || o.Backend == BackendEpoll {
		return nil, &proactor.MissingError{
			Feature: o.Backend.String(), Need: "Linux; here use BackendAuto or BackendKqueue",
		}
	}
	return poller.NewKqueue(o.MaxEvents)
}
