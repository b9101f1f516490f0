//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"evenkeel.dev/bench/machine"
)

const (
	bystanders = 10                    // connections that ask during an attack
	users      = 100                   // connections that ask next to idle ones
	look       = 50 * time.Millisecond // between readings of the server's memory
	each       = time.Millisecond      // between short connections
	settled    = 100                   // most looks for a pause of the server, of twice that time each
)

// crowds begin what their connections do, and return what goes on until end is closed, or nil.
var crowds = map[string]func(c *client, conns int) (goOn func(end <-chan struct{}), err error){
	"idle":    (*client).idlers,
	"trickle": (*client).trickle,
	"silent":  (*client).silent,
	"resets":  (*client).resets,
}

// beside measures connections that ask during what a crowd does, and the server's memory.
func (c *client) beside(crowd string, conns int, warmup, length time.Duration) (values, error) {
	begin := crowds[crowd]
	if begin == nil {
		return nil, fmt.Errorf("-crowd %q is not known", crowd)
	}
	goOn, err := begin(c, conns)
	if err == nil {
		err = c.settle()
	}
	if err != nil {
		return nil, err
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
	v, err := c.closed(n, warmup, length)
	close(end)
	running.Wait()
	if err != nil {
		return nil, err
	}
	if v["MB"] = float64(memory) / 1e6; memory == 0 && v["gone"] == 0 {
		return nil, errors.New("the server's memory was not seen")
	}
	return v, nil
}

// settle waits until the server is idle after the crowd's begin, within a limit.
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

// gather dials, and calls first for each connection.
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

// kept keeps the connections until the end.
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

// silent connect and send nothing.
func (c *client) silent(conns int) (func(<-chan struct{}), error) {
	all, err := c.gather(conns, func(*end) error { return nil })
	return kept(all), err
}

// trickle sends the beginning of a request, and then a byte per second.
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

// storm starts a short connection each millisecond, while fewer than most are open.
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

// resets asks and resets at once.
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
