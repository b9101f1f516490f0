package main

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"time"

	"evenkeel.dev/bench/aio/wire"
)

// reading is a load whose server answers each of its reads with the read's size, in four bytes.
type reading struct {
	*fleet
	sizes   []int
	begun   int // messages
	over    int
	reads   int   // of the server, of the messages that are over
	of      []int // by connection: the size of the message under way
	left    []int // what the server has not said yet of it
	answers []int // to it
	short   map[int]int
}

// reads has c.n messages read by the server, one under way on each connection, each sent by one call.
func reads(c config) (*wire.Result, error) {
	c.first = 0
	r := &reading{sizes: wire.MixedSizes, of: make([]int, c.conns), left: make([]int, c.conns), answers: make([]int, c.conns), short: map[int]int{}}
	if c.size != 0 {
		r.sizes = []int{c.size}
	}
	c.size = r.sizes[len(r.sizes)-1] // the largest
	var err error
	if r.fleet, err = newFleet(c); err != nil {
		return nil, err
	}
	fds, err := r.connectAll(c.conns)
	if err != nil {
		return nil, err
	}
	arena := make([]byte, 64*c.conns)
	for i, fd := range fds {
		r.conns = append(r.conns, conn{fd: fd, rx: arena[64*i : 64*(i+1)]})
		if err := r.poll.add(fd, i, syscall.EPOLLIN); err != nil {
			return nil, err
		}
	}
	still()
	start := now()
	if err := r.run(); err != nil {
		return nil, err
	}
	result := &wire.Result{Messages: int64(r.over), Seconds: time.Duration(now() - start).Seconds(), Values: map[string]float64{"reads": float64(r.reads), "short": 0}}
	for _, size := range r.sizes {
		result.Values[fmt.Sprintf("short_%d", size)] = float64(r.short[size])
		result.Values["short"] += float64(r.short[size])
	}
	return result, nil
}

func (r *reading) run() error {
	for i := range r.conns {
		if err := r.next(i); err != nil {
			return err
		}
	}
	r.last = now()
	for r.over < r.n {
		events, err := r.poll.wait()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := r.advance(int(e.Fd)); err != nil {
				return fmt.Errorf("connection %d: %w", e.Fd, err)
			}
			r.last = now()
		}
		if len(events) == 0 && now()-r.last > int64(r.patience) {
			return fmt.Errorf("the server is stuck: no answer for %v, %d of %d messages have theirs", r.patience, r.over, r.n)
		}
	}
	return nil
}

// next sends connection i's next message, if there is one.
func (r *reading) next(i int) error {
	if r.begun == r.n {
		return nil
	}
	size := r.sizes[r.begun%len(r.sizes)]
	r.begun++
	r.of[i], r.left[i], r.answers[i] = size, size, 0
	n, err := write(r.conns[i].fd, r.tx[:size])
	if err == nil && n < size {
		err = fmt.Errorf("the socket takes %d of %d bytes", n, size)
	}
	return err
}

// advance takes the answers that have come on connection i.
func (r *reading) advance(i int) error {
	c := &r.conns[i]
	n, err := read(c.fd, c.rx[c.got:])
	if err != nil {
		return err
	}
	c.got += n
	whole := c.rx[:c.got&^3]
	for ; len(whole) > 0; whole = whole[4:] {
		r.left[i] -= int(binary.LittleEndian.Uint32(whole))
		r.answers[i]++
	}
	c.got = copy(c.rx, c.rx[c.got&^3:c.got])
	switch {
	case r.left[i] < 0:
		return fmt.Errorf("the server has read %d bytes more than the message of %d has", -r.left[i], r.of[i])
	case r.left[i] > 0:
		return nil
	}
	r.over++
	r.reads += r.answers[i]
	if r.answers[i] > 1 {
		r.short[r.of[i]]++
	}
	return r.next(i)
}
