//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package poller

import "evenkeel.dev/aio/internal/sys"

func NewKqueue() (*Poller, error) {
	q, err := sys.NewKqueue(batch)
	if err != nil {
		return nil, err
	}
	return NewKqueueOver(q)
}
