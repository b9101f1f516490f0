//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
)

const (
	bystanders = 10  // that ask during an attack
	users      = 100 // that ask next to idle ones
	look       = 50 * time.Millisecond
	each       = time.Millisecond
	settled    = 100 // looks for a pause of the server
)

// crowds begin, and return what goes on until end is closed, or nil.
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
	v, err := c.closed(n, 0, warmup, length)
	close(end)
	running.Wait()
	if err != nil {
		return nil, err
	}
	if v["MB"] = float64(memory) / 1e6; memory == 0 {
		return nil, errors.New("the server's memory was not seen")
	}
	return v, nil
}

// settle waits until the server is idle.
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

func (c *client) gather(conns int, first func(*end) error) ([]*end, error) {
	all := make([]*end, conns)
	for i := range all {
		e, err := c.dial()
		if err == nil && first != nil {
			err = first(e)
		}
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		all[i] = e
	}
	return all, nil
}

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

func (c *client) silent(conns int) (func(<-chan struct{}), error) {
	all, err := c.gather(conns, nil)
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

// resets starts a short connection each millisecond, while fewer than conns are open.
func (c *client) resets(conns int) (func(<-chan struct{}), error) {
	return func(end <-chan struct{}) {
		var running sync.WaitGroup
		defer running.Wait()
		may := make(chan struct{}, conns)
		for ticks := time.NewTicker(each); ; {
			select {
			case <-end:
				return
			case <-ticks.C:
			}
			select {
			case may <- struct{}{}:
				running.Go(func() { c.reset(); <-may })
			default:
			}
		}
	}, nil
}

func (c *client) reset() {
	e, err := c.dial()
	if err != nil {
		return
	}
	_, _ = e.Write(c.request)
	_ = e.Conn.(*net.TCPConn).SetLinger(0)
	_ = e.Close()
}

const (
	volley = 32               // connections that begin between looks at answers
	lost   = 60 * time.Second // a connection without an answer has failed
)

// burst connects all at once. It uses epoll, because goroutines and package net would take more CPU
// time than the server.
func (c *client) burst(conns int) (values, error) {
	to, err := net.ResolveTCPAddr("tcp4", c.addr)
	if err != nil {
		return nil, err
	}
	before, err := machine.CPUTime(c.pid)
	if err != nil {
		return nil, err
	}
	addr := &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	b := &burst{client: c, asked: map[int32][]byte{}, to: addr, start: time.Now()}
	if b.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	defer syscall.Close(b.epoll)
	own := machine.OwnTime()
	for i := range conns {
		if err := b.begin(); err != nil {
			return nil, err
		}
		if i%volley == volley-1 {
			b.look(0)
		}
	}
	for b.open > 0 && time.Since(b.start) < lost {
		b.look(time.Second)
	}
	passed := time.Since(b.start)
	c.failed.Add(int64(b.open))
	own = machine.OwnTime() - own
	after, err := machine.CPUTime(c.pid)
	return result(b.took, passed, after-before, own), err
}

type burst struct {
	*client
	to    syscall.Sockaddr
	epoll int
	open  int
	asked map[int32][]byte // parts of answers, by descriptor
	took  []time.Duration
	start time.Time

	reader bufio.Reader // of an answer
}

func (b *burst) begin() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := syscall.Connect(fd, b.to); err != nil && err != syscall.EINPROGRESS {
		return err
	}
	b.open++
	e := syscall.EpollEvent{Fd: int32(fd), Events: syscall.EPOLLIN | syscall.EPOLLOUT | edges}
	return syscall.EpollCtl(b.epoll, syscall.EPOLL_CTL_ADD, fd, &e)
}

const edges = 1 << 31 // EPOLLET, which is negative in package syscall

func (b *burst) look(wait time.Duration) {
	var events [256]syscall.EpollEvent
	n, _ := syscall.EpollWait(b.epoll, events[:], int(wait.Milliseconds())) // 0 if it was interrupted
	for _, e := range events[:max(n, 0)] {
		over, err := b.goOn(e.Fd)
		if !over && err == nil {
			continue
		}
		if err != nil {
			b.failed.Add(1)
		}
		b.open--
		b.took = append(b.took, time.Since(b.start))
		delete(b.asked, e.Fd)
		_ = syscall.Close(int(e.Fd))
	}
}

func (b *burst) goOn(fd int32) (over bool, err error) {
	got, asked := b.asked[fd]
	if !asked {
		b.asked[fd] = nil
		_, err := syscall.Write(int(fd), b.request) // fails if it did not connect
		return false, err
	}
	var buf [4096]byte
	n, err := syscall.Read(int(fd), buf[:])
	switch {
	case err == syscall.EAGAIN:
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, errors.New("it ended before its answer did")
	}
	got = append(got, buf[:n]...)
	b.asked[fd] = got
	b.reader.Reset(bytes.NewReader(got))
	if err = readAnswer(&b.reader); errors.Is(err, io.EOF) {
		return false, nil // more of it will come
	}
	return err == nil, err
}
