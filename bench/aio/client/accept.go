package main

import (
	"fmt"
	"syscall"
	"time"

	"evenkeel.dev/bench/aio/wire"
)

const outstanding = 256 // connections that accept has under way

// accepting are connections that a server closes as it has accepted them.
type accepting struct {
	*fleet
	fds []int // by slot
}

// accept makes c.n connections, c.conns of them at a time at most, to a server that closes each as soon
// as it has accepted it. Those before them have had the code and the pools brought in.
func accept(c config) (*wire.Result, error) {
	c.first = 0
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	a := &accepting{fleet: f, fds: make([]int, min(outstanding, c.conns))}
	still()
	if err := a.run(2 * len(a.fds)); err != nil {
		return nil, err
	}
	if err := f.mark(syscall.SIGUSR2); err != nil {
		return nil, err
	}
	before, err := cpuTime(c.pid)
	if err != nil {
		return nil, err
	}
	start := now()
	if err := a.run(c.n); err != nil {
		return nil, err
	}
	took := time.Duration(now() - start)
	after, err := cpuTime(c.pid)
	if err != nil {
		return nil, err
	}
	return &wire.Result{Messages: int64(c.n), Seconds: took.Seconds(), CPU: float64(after-before) / float64(c.n)}, f.mark(syscall.SIGWINCH)
}

// run makes n connections, and waits until the server has closed all of them.
func (a *accepting) run(n int) error {
	begun, over := 0, 0
	a.last = now()
	for slot := range a.fds[:min(len(a.fds), n)] {
		if err := a.begin(slot); err != nil {
			return err
		}
		begun++
	}
	for over < n {
		events, err := a.poll.wait()
		if err != nil {
			return err
		}
		for _, e := range events {
			slot := int(e.Fd)
			if err := a.closed(slot); err != nil {
				return err
			}
			over++
			a.last = now()
			if begun < n {
				if err := a.begin(slot); err != nil {
					return err
				}
				begun++
			}
		}
		if len(events) == 0 && now()-a.last > int64(a.patience) {
			return fmt.Errorf("the server is stuck: none closed for %v, %d of %d connections were", a.patience, over, n)
		}
	}
	return nil
}

func (a *accepting) begin(slot int) error {
	fd, err := socket()
	if err != nil {
		return err
	}
	a.fds[slot] = fd
	if err := syscall.Connect(fd, &a.to); err != nil && err != syscall.EINPROGRESS {
		return err
	}
	return a.poll.add(fd, slot, syscall.EPOLLIN)
}

// closed closes a connection that the server has closed, which its descriptor's event says.
func (a *accepting) closed(slot int) error {
	var one [1]byte
	fd := a.fds[slot]
	if n, err := read(fd, one[:]); err != errClosed {
		return fmt.Errorf("%d bytes, %v from a server that closes what it accepts", n, err)
	}
	return syscall.Close(fd)
}
