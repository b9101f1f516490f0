package aio

import (
	"sync"

	"evenkeel.dev/internal/poller"
	"evenkeel.dev/internal/proactor"
	"evenkeel.dev/internal/uring"
)

// fellBack has Auto say once in a process that it uses epoll.
var fellBack sync.Once

// open opens the backend that o asks for.
func open(o Options) (proactor.Backend, error) {
	switch o.Backend {
	case Epoll:
		return poller.NewEpoll()
	case Kqueue:
		return nil, &UnsupportedError{Feature: "kqueue", Need: "macOS or a BSD; on Linux use Auto, IOUring or Epoll"}
	}
	b, err := uring.New(o.SwapSize)
	if err == nil {
		return b, nil
	}
	if o.Backend == IOUring {
		return nil, err
	}
	fellBack.Do(func() {
		o.Logger.Warn("aio: using epoll instead of io_uring; to choose epoll without this line set Options.Backend to Epoll", "reason", err)
	})
	return poller.NewEpoll()
}

func setAffinity(cpu int) error { return poller.SetAffinity(cpu) }

// mayRunOn reports whether this process may run on a CPU. It asks on the thread of a new goroutine:
// the caller's may be bound already. Where the kernel does not say, setAffinity finds out.
func mayRunOn(cpu int) bool {
	answer := make(chan bool)
	go func() {
		may, err := poller.MayRunOn(cpu)
		answer <- may || err != nil && cpu >= 0
	}()
	return <-answer
}
