package aio

import (
	"errors"
	"sync"

	"evenkeel.dev/internal/poller"
	"evenkeel.dev/internal/proactor"
	"evenkeel.dev/internal/uring"
)

// fellBack has BackendAuto say once in a process that it uses epoll.
var fellBack sync.Once

// open opens the backend that o asks for.
func open(o Options) (proactor.Backend, error) {
	switch o.Backend {
	case BackendEpoll:
		return poller.NewEpoll()
	case BackendKqueue:
		return nil, &UnsupportedError{Feature: "kqueue", Need: "macOS or a BSD; on Linux use BackendAuto, BackendIOUring or BackendEpoll"}
	}
	b, err := uring.New(o.SwapSize)
	if err == nil {
		return b, nil
	}
	if o.Backend == BackendIOUring {
		if missing := (*proactor.MissingError)(nil); errors.As(err, &missing) {
			return nil, (*UnsupportedError)(missing)
		}
		return nil, err
	}
	fellBack.Do(func() {
		o.Logger.Warn("aio: using epoll instead of io_uring; to choose epoll without this line set Options.Backend to BackendEpoll", "reason", err)
	})
	return poller.NewEpoll()
}
