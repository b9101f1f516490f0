//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package poller

import "evenkeel.dev/aio/internal/sys"

func NewKqueue(events int) (*Poller, error) {
	q, err := sys.NewKqueue(events)
	if err != nil {
		return nil, err
	}
	return NewKqueueOver(q, events)
}
