//go:build linux

package main

import (
	"errors"
	"fmt"
	"log"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

type conn struct {
	fd   int
	got  int // bytes of the answer
	seq  uint32
	sent int64
	rx   []byte
}

type fleet struct {
	*config
	poll  *poller
	conns []conn
	tx    []byte
	hist  loadgen.Histogram
	last  int64 // of the last whole answer
}

func newFleet(c *config) (*fleet, error) {
	p, err := newPoller()
	return &fleet{config: c, poll: p, tx: pattern(c.size)}, err
}

func (f *fleet) dial(n int) error {
	arena := make([]byte, n*f.size)
	for range n {
		i := len(f.conns)
		fd, err := connect(f.to)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		if f.size >= large { // room for the kernel's overhead
			err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, 4*f.size)
		}
		f.conns = append(f.conns, conn{fd: fd, rx: arena[:f.size:f.size]})
		arena = arena[f.size:]
		f.last = now()
		if err := errors.Join(err, f.poll.add(fd, i, syscall.EPOLLIN), f.send(i, f.last)); err != nil {
			return err
		}
		for answered := 0; answered == 0; {
			if answered, err = f.turn(false); err != nil {
				return err
			}
		}
	}
	return nil
}

// send sends the next message, which fits into an empty socket.
func (f *fleet) send(i int, at int64) error {
	c := &f.conns[i]
	c.seq++
	c.sent, c.got = at, 0
	message(f.tx, i, c.seq)
	n, err := write(c.fd, f.tx)
	if err == nil && n < len(f.tx) {
		err = errors.New("the socket does not take a whole message")
	}
	if err != nil {
		return fmt.Errorf("connection %d: %w", i, err)
	}
	return nil
}

// With again it sends the next message after each whole answer.
func (f *fleet) turn(again bool) (answered int, err error) {
	events, err := f.poll.wait()
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		i := int(e.Fd)
		c := &f.conns[i]
		n, err := read(c.fd, c.rx[c.got:])
		if err != nil {
			return 0, fmt.Errorf("connection %d: %w", i, err)
		}
		if c.got += n; c.got < len(c.rx) {
			continue
		}
		t := now()
		message(f.tx, i, c.seq)
		if err := check(c.rx, f.tx, i); err != nil {
			return 0, err
		}
		answered++
		f.last = t
		c.got = 0
		if !again {
			continue
		}
		f.hist.Record(time.Duration(t - c.sent))
		if err := f.send(i, t); err != nil {
			return 0, err
		}
	}
	if answered == 0 && now()-f.last > int64(patience) {
		return 0, fmt.Errorf("no answer for %v on any of %d connections", patience, len(f.conns))
	}
	return answered, nil
}

// during exchanges messages for d, and until there is an answer.
func (f *fleet) during(d time.Duration) (n int64, took time.Duration, err error) {
	start := now()
	f.last = start
	for n == 0 || now()-start < int64(d) {
		answered, err := f.turn(true)
		if err != nil {
			return 0, 0, err
		}
		n += int64(answered)
	}
	return n, time.Duration(now() - start), nil
}

func (f *fleet) measure(load func(time.Duration) (int64, time.Duration, error)) (values, error) {
	if _, _, err := load(f.warmup); err != nil {
		return nil, err
	}
	f.hist = loadgen.Histogram{}
	before, err := machine.CPUTime(f.pid)
	if err != nil {
		return nil, err
	}
	n, took, err := load(f.length)
	if err != nil {
		return nil, err
	}
	after, err := machine.CPUTime(f.pid)
	rate := float64(n) / took.Seconds()
	v := values{
		"messages/s": rate, "MB/s": rate * float64(f.size) / 1e6,
		"CPU µs/message": float64(after-before) / 1e3 / float64(n),
	}
	return v.latencies(&f.hist), err
}

func pingpong(c *config) (values, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	if err := f.dial(c.conns); err != nil {
		return nil, err
	}
	quiesce()
	for i := range f.conns {
		if err := f.send(i, now()); err != nil {
			return nil, err
		}
	}
	v, err := f.measure(f.during)
	if err != nil || !c.trace {
		return v, err
	}
	if calls, err := f.traced(); err != nil { // it may need root
		log.Print("client: system calls are not counted: ", err)
	} else {
		v["syscalls/message"] = calls
	}
	return v, nil
}

func hold(c *config) (values, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	return values{}, machine.Hold(c.conns, f.dial)
}
