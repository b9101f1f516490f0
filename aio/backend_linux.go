package aio

import (
	"sync"

	"evenkeel.dev/aio/internal/poller"
	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/uring"
)

// fellBack logs once in a process that BackendAuto uses epoll.
var fellBack sync.Once

func open(o Options) (proactor.Backend, error) {
	switch o.Backend {
	case BackendEpoll:
		return poller.NewEpoll(o.MaxEvents)
	case BackendKqueue:
		return nil, &proactor.MissingError{
			Feature: "kqueue",
			Need:    "macOS or a BSD; on Linux use BackendAuto, BackendIOUring or BackendEpoll",
		}
	}
	b, err := uring.New(o.SwapSize)
	if err == nil {
		return b, nil
	}
	if o.Backend == BackendIOUring {
		return nil, err
	}
	p, pollErr := poller.NewEpoll(o.MaxEvents)
	if pollErr != nil {
		return nil, pollErr
	}
	fellBack.Do(func() {
		o.Logger.Warn("aio: using epoll instead of io_uring; to choose epoll without this line set Options.Backend "+
			"to BackendEpoll", "reason", err)
	})
	return p, nil
}
