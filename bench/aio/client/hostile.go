//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// bulk measures a ping-pong on one connection while c.conns others send as fast as they can and
// read the echo.
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
	still()
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

// silent opens connections that send nothing.
func silent(c *config) (values, error) {
	_, err := (&fleet{config: c}).connectAll(c.conns)
	return values{}, err
}

// dial connects by package net, for loads that do not measure the client's time.
func (c *config) dial() (net.Conn, error) {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	return conn, errors.Join(conn.(*net.TCPConn).SetLinger(0), conn.SetDeadline(time.Now().Add(2*patience)))
}

// drain reads c.count messages on each connection, and all bytes on the first.
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

// unread measures new connections, from connect to the echo of a message, while c.conns others do
// not read what the server sends.
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
