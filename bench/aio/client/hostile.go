package main

import (
	"fmt"
	"syscall"
	"time"

	"evenkeel.dev/bench/aio/wire"
)

const chunk = 64 << 10 // bytes of a transfer of those who send or read as much as they can

// bulk measures a ping-pong beside c.conns connections that send as fast as they can, and read what comes back.
func bulk(c config) (*wire.Result, error) {
	others := c.conns
	c.conns, c.first = 1, 0
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	if err := f.dial(1); err != nil {
		return nil, err
	}
	fds, err := f.connectAll(others)
	if err != nil {
		return nil, err
	}
	out, in := pattern(chunk), make([]byte, chunk)
	still()
	if err := f.send(0, now()); err != nil {
		return nil, err
	}
	var answered int
	var moved, left int64 // bytes that came back, and that have to
	pass := func(d time.Duration) error {
		answered, moved = 0, 0
		for start := now(); now()-start < int64(d); {
			for _, fd := range fds {
				sent, err := write(fd, out)
				if err != nil {
					return err
				}
				got, err := read(fd, in)
				if err != nil {
					return err
				}
				moved += int64(got)
				left += int64(sent - got)
			}
			if left < 0 {
				return fmt.Errorf("%d bytes came back that were not sent", -left)
			}
			n, err := f.turn(true)
			if err != nil {
				return err
			}
			answered += n
		}
		return nil
	}
	if err := pass(c.warmup); err != nil {
		return nil, err
	}
	f.hist.Reset()
	start := now()
	if err := pass(c.length); err != nil {
		return nil, err
	}
	took := time.Duration(now() - start)
	if answered == 0 {
		return nil, fmt.Errorf("no answer in %v on %d connections", c.length, 1)
	}
	r := &wire.Result{Messages: int64(answered), Seconds: took.Seconds(), Values: map[string]float64{"bulk_mb_s": float64(moved) / took.Seconds() / 1e6}}
	r.Latency, err = wire.Summary(f.hist)
	return r, err
}

// connectAll returns the descriptors of n connections, which are the caller's to read.
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

// closed reads c.n connections, one after the other, that the server writes to and closes at once.
func closed(c config) (*wire.Result, error) {
	complete := 0
	buf := make([]byte, wire.FreedWrites*wire.FreedSize+1)
	start := now()
	for range c.n {
		fd, err := connect(c.to)
		if err != nil {
			return nil, err
		}
		got := 0
		for deadline := now() + int64(c.patience); err == nil && got < len(buf); {
			var n int
			n, err = read(fd, buf[got:])
			got += n
			if err == nil && n == 0 && now() > deadline {
				return nil, fmt.Errorf("the server is stuck: no end for %v after %d bytes", c.patience, got)
			}
		}
		if err == errClosed && got == wire.FreedWrites*wire.FreedSize { // a reset says that something was lost, too
			complete++
		}
		if err := syscall.Close(fd); err != nil {
			return nil, err
		}
	}
	return &wire.Result{
		Messages: int64(c.n), Seconds: time.Duration(now() - start).Seconds(), Values: map[string]float64{"complete": float64(complete)},
	}, nil
}

// drain reads c.n messages on each connection but the first, whatever comes on that.
func drain(c config) (*wire.Result, error) {
	c.first = 0
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	fds, err := f.connectAll(c.conns)
	if err != nil {
		return nil, err
	}
	for i, fd := range fds {
		if err := f.poll.add(fd, i, syscall.EPOLLIN); err != nil {
			return nil, err
		}
	}
	still()
	start := now()
	f.last = start
	buf := make([]byte, chunk)
	all := int64(c.conns-1) * int64(c.n) * int64(c.size)
	for left := all; left > 0; {
		events, err := f.poll.wait()
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			n, err := read(fds[e.Fd], buf)
			if err != nil {
				return nil, fmt.Errorf("connection %d: %w", e.Fd, err)
			}
			if f.last = now(); e.Fd != 0 {
				left -= int64(n)
			}
		}
		if left < 0 {
			return nil, fmt.Errorf("%d bytes more came than %d", -left, all)
		}
		if now()-f.last > int64(c.patience) {
			return nil, fmt.Errorf("the server is stuck: nothing came for %v, %d of %d bytes are missing", c.patience, left, all)
		}
	}
	return &wire.Result{Messages: all / int64(c.size), Seconds: time.Duration(now() - start).Seconds()}, nil
}

// silent opens connections that never say anything.
func silent(c config) (*wire.Result, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	_, err = f.connectAll(c.conns)
	return &wire.Result{}, err
}

// unread measures new connections, from connect to the answer to a message, one after the other, beside c.conns
// connections that the server sends to and that never read.
func unread(c config) (*wire.Result, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	if _, err := f.connectAll(c.conns); err != nil {
		return nil, err
	}
	still()
	const least = 5
	rx := make([]byte, c.size)
	before := drops()
	start, count := now(), 0
	for ; count < least || now()-start < int64(c.length); count++ {
		at := now()
		fd, err := connect(c.to)
		if err != nil {
			return nil, err
		}
		message(f.tx, count, 1)
		if n, err := write(fd, f.tx); err != nil || n < len(f.tx) {
			return nil, fmt.Errorf("connection %d: %d bytes of %d sent, %w", count, n, len(f.tx), err)
		}
		for got := 0; got < len(rx); {
			n, err := read(fd, rx[got:])
			if err != nil {
				return nil, fmt.Errorf("connection %d: %w", count, err)
			}
			if got += n; n == 0 && now()-at > int64(c.patience) {
				return nil, fmt.Errorf("the server is stuck: a new connection has no answer for %v", c.patience)
			}
		}
		if err := f.hist.RecordValue(now() - at); err != nil {
			return nil, err
		}
		if err := check(rx, f.tx, count); err != nil {
			return nil, err
		}
		if err := syscall.Close(fd); err != nil {
			return nil, err
		}
	}
	r := &wire.Result{Messages: int64(count), Seconds: time.Duration(now() - start).Seconds(), Values: since(before)}
	r.Latency, err = wire.Summary(f.hist)
	return r, err
}
