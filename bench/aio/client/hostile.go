//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// bulk measures a ping-pong on one connection while others, c.conns of them, send as fast as they
// can and read what comes back.
func bulk(c *config) (values, error) {
	const chunk = 64 << 10 // bytes of a transfer
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
	still()
	if err := f.send(0, now()); err != nil {
		return nil, err
	}
	left := 0 // bytes that have to come back
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

// connectAll returns the descriptors of n connections.
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

// silent opens connections that never say anything.
func silent(c *config) (values, error) {
	_, err := (&fleet{config: c}).connectAll(c.conns)
	return values{}, err
}

// dial connects by package net, for the loads that look at the server's time or behaviour only.
func (c *config) dial() (net.Conn, error) {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	return conn, errors.Join(conn.(*net.TCPConn).SetLinger(0), conn.SetDeadline(time.Now().Add(2*patience)))
}

// closed reads c.count connections, one after the other, to which the server writes ten times and
// which it closes at once. A reset says that something was lost, too.
func closed(c *config) (values, error) {
	incomplete := 0
	for range c.count {
		conn, err := c.dial()
		if err != nil {
			return nil, err
		}
		got, err := io.ReadAll(conn)
		if err != nil || len(got) != 10*c.size {
			incomplete++
		}
		_ = conn.Close()
	}
	return values{"incomplete": float64(incomplete)}, nil
}

// drain reads c.count messages on each connection but the first, and whatever comes on that.
func drain(c *config) (values, error) {
	var wg sync.WaitGroup
	errs := make([]error, c.conns)
	for i := range c.conns {
		conn, err := c.dial()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			continue
		}
		wg.Go(func() { _, errs[i] = io.CopyN(io.Discard, conn, int64(c.count*c.size)) })
	}
	wg.Wait()
	return values{}, errors.Join(errs...)
}

// unread measures new connections, from connect to the answer to a message, one after the other,
// while c.conns connections to which the server sends never read.
func unread(c *config) (values, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	if _, err := f.connectAll(c.conns); err != nil {
		return nil, err
	}
	const least = 5
	rx := make([]byte, c.size)
	for start, n := now(), 0; n < least || now()-start < int64(c.length); n++ {
		at := now()
		conn, err := c.dial()
		if err != nil {
			return nil, err
		}
		message(f.tx, n, 1)
		if _, err := conn.Write(f.tx); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(conn, rx); err != nil {
			return nil, fmt.Errorf("connection %d: %w", n, err)
		}
		f.hist.Record(time.Duration(now() - at))
		if err := errors.Join(check(rx, f.tx, n), conn.Close()); err != nil {
			return nil, err
		}
	}
	return values{}.latencies(&f.hist), nil
}

// reads has the server read c.count messages, one under way on each connection, each sent by one
// call. The server answers each of its reads with the read's size, in four bytes. A message that
// took several reads was cut.
func reads(c *config) (values, error) {
	sizes := []int{100, 1000, 4000, 8000, 16_000, 30_000}
	if c.size != 0 {
		sizes = []int{c.size}
	}
	var wg sync.WaitGroup
	errs, cut, calls := make([]error, c.conns), make([]int, c.conns), make([]int, c.conns)
	for i := range c.conns {
		conn, err := c.dial()
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			for k := i; k < c.count && errs[i] == nil; k += c.conns {
				var n int
				n, errs[i] = readBy(conn, sizes[k%len(sizes)])
				if calls[i] += n; n > 1 {
					cut[i]++
				}
			}
		})
	}
	wg.Wait()
	v := values{"messages": float64(c.count)}
	for i := range c.conns {
		v["cut"] += float64(cut[i])
		v["reads/message"] += float64(calls[i]) / float64(c.count)
	}
	return v, errors.Join(errs...)
}

// readBy sends a message of a size, and returns how many reads it took the server.
func readBy(conn net.Conn, size int) (reads int, err error) {
	if _, err := conn.Write(make([]byte, size)); err != nil {
		return 0, err
	}
	for left := size; left > 0; reads++ {
		var answer [4]byte
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return 0, err
		}
		if left -= int(binary.LittleEndian.Uint32(answer[:])); left < 0 {
			return 0, fmt.Errorf("the server has read %d bytes more than the message of %d has", -left, size)
		}
	}
	return reads, nil
}
