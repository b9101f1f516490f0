//go:build linux

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
)

const (
	connecting = 1000 // at once
	stall      = time.Second
)

type burster struct {
	*fleet
	state    []byte // by connection
	pending  int
	answered int
	stalled  int
}

const (
	dialing = iota
	waiting
	done
)

// burst connects many clients at once, as gaio's Test8k does, from the first connect to the last
// answer.
func burst(c *config) (values, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	b := &burster{fleet: f, state: make([]byte, c.conns)}
	f.conns = make([]conn, c.conns)
	arena := make([]byte, c.conns*c.size)
	for i := range f.conns {
		f.conns[i].rx = arena[i*c.size : (i+1)*c.size]
		if f.conns[i].fd, err = socket(); err != nil {
			return nil, err
		}
	}
	quiesce()
	before, err := machine.CPUTime(f.pid)
	if err != nil {
		return nil, err
	}
	start := now()
	if err := b.run(start); err != nil {
		return nil, err
	}
	took := time.Duration(b.last - start)
	after, err := machine.CPUTime(f.pid)
	n := float64(c.conns)
	v := values{
		"ms": milliseconds(took), "connections/s": n / took.Seconds(), "stalled": float64(b.stalled),
		"CPU µs/connection": float64(after-before) / 1e3 / n,
	}
	return v.latencies(&f.hist), err
}

func (b *burster) run(start int64) error {
	b.last = start
	for next := 0; b.answered < len(b.conns); {
		for ; next < len(b.conns) && b.pending < connecting; next++ {
			if err := b.connect(next); err != nil {
				return fmt.Errorf("connection %d: %w", next, err)
			}
		}
		events, err := b.poll.wait()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := b.advance(int(e.Fd), e.Events); err != nil {
				return fmt.Errorf("connection %d: %w", e.Fd, err)
			}
		}
		if len(events) == 0 && now()-b.last > int64(patience) {
			return fmt.Errorf("no answer for %v, %d of %d clients have theirs", patience, b.answered, len(b.conns))
		}
	}
	return nil
}

func (b *burster) connect(i int) error {
	c := &b.conns[i]
	c.sent = now()
	b.pending++
	if err := syscall.Connect(c.fd, &b.to); err != nil && err != syscall.EINPROGRESS {
		return err
	}
	const edge = 1 << 31 // EPOLLET, which is negative in package syscall
	return b.poll.add(c.fd, i, syscall.EPOLLIN|syscall.EPOLLOUT|edge)
}

func (b *burster) advance(i int, events uint32) error {
	const failed = syscall.EPOLLERR | syscall.EPOLLHUP
	c := &b.conns[i]
	if b.state[i] == dialing && events&(syscall.EPOLLOUT|failed) != 0 {
		if e, err := syscall.GetsockoptInt(c.fd, syscall.SOL_SOCKET, syscall.SO_ERROR); err != nil || e != 0 {
			return fmt.Errorf("connect: %w", syscall.Errno(e))
		}
		b.state[i] = waiting
		b.pending--
		if err := b.send(i, c.sent); err != nil {
			return err
		}
	}
	if b.state[i] != waiting || events&(syscall.EPOLLIN|failed) == 0 {
		return nil
	}
	for c.got < len(c.rx) {
		n, err := read(c.fd, c.rx[c.got:])
		if err != nil || n == 0 {
			return err
		}
		c.got += n
	}
	b.last = now()
	message(b.tx, i, c.seq)
	if err := check(c.rx, b.tx, i); err != nil {
		return err
	}
	b.state[i] = done
	b.answered++
	took := time.Duration(b.last - c.sent)
	if took > stall {
		b.stalled++
	}
	b.hist.Record(took)
	return nil
}

// c.conns others send as fast as they can and read the echo.
func bulk(c *config) (values, error) {
	const chunk = 64 << 10
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	if err := f.dial(1); err != nil {
		return nil, err
	}
	fds, err := f.connectAll(c.conns)
	if err != nil {
		return nil, err
	}
	out, in := pattern(chunk), make([]byte, chunk)
	quiesce()
	if err := f.send(0, now()); err != nil {
		return nil, err
	}
	left := 0 // bytes of echo that have not arrived
	return f.measure(func(d time.Duration) (n int64, took time.Duration, err error) {
		start := now()
		for n == 0 || now()-start < int64(d) {
			for _, fd := range fds {
				sent, serr := write(fd, out)
				got, rerr := read(fd, in)
				if err := errors.Join(serr, rerr); err != nil {
					return 0, 0, err
				}
				if left += sent - got; left < 0 {
					return 0, 0, fmt.Errorf("%d bytes came back that were not sent", -left)
				}
			}
			answered, err := f.turn(true)
			if err != nil {
				return 0, 0, err
			}
			n += int64(answered)
		}
		return n, time.Duration(now() - start), nil
	})
}

func (f *fleet) connectAll(n int) ([]int, error) {
	fds := make([]int, n)
	for i := range fds {
		var err error
		if fds[i], err = connect(f.to); err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return fds, nil
}

func silent(c *config) (values, error) {
	_, err := (&fleet{config: c}).connectAll(c.conns)
	return values{}, err
}
