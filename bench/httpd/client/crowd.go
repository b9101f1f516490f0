//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"evenkeel.dev/bench/httpd/wire"
	"evenkeel.dev/bench/machine"
)

const (
	bystanders = 10                    // connections that ask beside an attack
	users      = 100                   // and beside idle connections
	look       = 50 * time.Millisecond // how often the server's memory is looked at
	each       = time.Millisecond      // attacks by short connections: one
	flooded    = 1 << 10               // bytes of a header that a flooding connection sends
	floods     = 10 * time.Millisecond // each
	settled    = 100                   // looks for a pause of the server's, of twice that time each
	impatience = 2 * time.Second       // of a short connection
	piece      = 4 << 10               // of memory that a slow reader gives the kernel
)

// crowds are what connections do. Each function has them begin, and returns what they go on with
// until end is closed; nil: nothing.
var crowds = map[string]func(c *client, conns int) (goOn func(end <-chan struct{}), err error){
	"idle":    (*client).idlers,
	"trickle": (*client).trickle,
	"silent":  (*client).silent,
	"slow":    (*client).slow,
	"flood":   (*client).flood,
	"resets":  (*client).resets,
	"smuggle": (*client).smuggle,
}

// beside has a crowd do what it does, and others ask meanwhile, of which the result is, with the
// server's memory.
func (c *client) beside(crowd string, conns int, warmup, length time.Duration) (wire.Result, error) {
	begin := crowds[crowd]
	if begin == nil {
		return wire.Result{}, fmt.Errorf("-crowd %q is not known", crowd)
	}
	goOn, err := begin(c, conns)
	if err == nil {
		err = c.settle()
	}
	if err != nil {
		return wire.Result{}, err
	}
	end := make(chan struct{})
	var running sync.WaitGroup
	if goOn != nil {
		running.Go(func() { goOn(end) })
	}
	var memory int64
	running.Go(func() {
		for ticks := time.NewTicker(look); ; {
			select {
			case <-end:
				return
			case <-ticks.C:
				if n, err := machine.OwnBytes(c.pid); err == nil {
					memory = max(memory, n)
				}
			}
		}
	})
	n := bystanders
	if crowd == "idle" {
		n = users
	}
	r, err := c.closed(n, warmup, length)
	close(end)
	running.Wait()
	if r.Memory = memory; memory == 0 && !r.Gone {
		err = errors.Join(err, errors.New("the server's memory was not seen"))
	}
	return r, err
}

// settle waits until the server has done with how the crowd began, but not for ever.
func (c *client) settle() error {
	for range settled {
		before, err := machine.CPUTime(c.pid)
		if err != nil {
			return err
		}
		time.Sleep(2 * look)
		after, err := machine.CPUTime(c.pid)
		if err != nil || after-before <= 2*machine.Tick {
			return err
		}
	}
	return nil
}

// gather dials, and has each connection do something at first.
func (c *client) gather(conns int, first func(*end) error) ([]*end, error) {
	all := make([]*end, conns)
	for i := range all {
		e, err := c.dial()
		if err == nil {
			err = first(e)
		}
		if err != nil {
			return nil, fmt.Errorf("connection %d of the crowd: %w", i, err)
		}
		all[i] = e
	}
	return all, nil
}

// kept goes on with nothing, and keeps the connections.
func kept(all []*end) func(<-chan struct{}) {
	return func(end <-chan struct{}) {
		<-end
		for _, e := range all {
			_ = e.Close()
		}
	}
}

// idlers ask once and stay.
func (c *client) idlers(conns int) (func(<-chan struct{}), error) {
	all, err := c.gather(conns, c.ask)
	return kept(all), err
}

// silent connect and say nothing.
func (c *client) silent(conns int) (func(<-chan struct{}), error) {
	all, err := c.gather(conns, func(*end) error { return nil })
	return kept(all), err
}

// trickle has each send the beginning of a request, and then a byte each second.
func (c *client) trickle(conns int) (func(<-chan struct{}), error) {
	all, err := c.gather(conns, func(e *end) error {
		_, err := io.WriteString(e, "GET /hello HTTP/1.1\r\nX: ")
		return err
	})
	return func(end <-chan struct{}) {
		defer kept(all)(end)
		for ticks := time.NewTicker(time.Second); ; {
			select {
			case <-end:
				return
			case <-ticks.C:
				for _, e := range all {
					_, _ = e.Write([]byte{'x'})
				}
			}
		}
	}, err
}

// slow has each ask for a large body and read nothing of it.
func (c *client) slow(conns int) (func(<-chan struct{}), error) {
	all, err := c.gather(conns, func(e *end) error {
		if err := e.Conn.(*net.TCPConn).SetReadBuffer(piece); err != nil {
			return err
		}
		_, err := e.Write(request("/large"))
		return err
	})
	return kept(all), err
}

// flood has each send a header that does not end, again and again.
func (c *client) flood(conns int) (func(<-chan struct{}), error) {
	line := []byte("X: " + string(bytes.Repeat([]byte{'x'}, flooded-5)) + "\r\n")
	begin := func(e *end) error {
		_, err := io.WriteString(e, "GET /hello HTTP/1.1\r\n")
		return err
	}
	all, err := c.gather(conns, begin)
	return func(end <-chan struct{}) {
		for ticks := time.NewTicker(floods); ; {
			select {
			case <-end:
				for _, e := range all {
					_ = e.Close()
				}
				return
			case <-ticks.C:
			}
			for i, e := range all {
				_ = e.SetWriteDeadline(time.Now().Add(time.Millisecond))
				if _, err := e.Write(line); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					continue
				}
				_ = e.Close() // the server has had enough
				if again, err := c.dial(); err == nil && begin(again) == nil {
					all[i] = again
				}
			}
		}
	}, err
}

// storm has short connections do one thing, some each millisecond, up to this many at a time.
func storm(most int, do func()) func(<-chan struct{}) {
	return func(end <-chan struct{}) {
		var running sync.WaitGroup
		defer running.Wait()
		may := make(chan struct{}, most)
		for ticks := time.NewTicker(each); ; {
			select {
			case <-end:
				return
			case <-ticks.C:
			}
			select {
			case may <- struct{}{}:
				running.Go(func() { do(); <-may })
			default:
			}
		}
	}
}

// resets has connections ask, and resets them at once.
func (c *client) resets(conns int) (func(<-chan struct{}), error) {
	return storm(conns, func() {
		e, err := c.dial()
		if err != nil {
			return
		}
		_, _ = e.Write(c.request)
		_ = e.Conn.(*net.TCPConn).SetLinger(0)
		_ = e.Close()
	}), nil
}

// smuggled are requests of which two readers could find two different ends.
const smuggled = "POST /hello HTTP/1.1\r\nHost: bench\r\nContent-Length: 6\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: bench\r\n\r\n"

// smuggle sends such. Each has to be refused: an answer of another kind counts as a failure.
func (c *client) smuggle(conns int) (func(<-chan struct{}), error) {
	return storm(conns, func() {
		e, err := c.dial()
		if err != nil {
			return
		}
		defer e.Close()
		_ = e.SetDeadline(time.Now().Add(impatience))
		_, _ = io.WriteString(e, smuggled)
		if answer, err := io.ReadAll(e.r); err == nil && (!bytes.HasPrefix(answer, []byte("HTTP/1.1 400")) ||
			bytes.Count(answer, []byte("HTTP/1.1")) > 1) {
			c.failed.Add(1)
		}
	}), nil
}
