//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
)

const (
	volley = 32               // connections that begin between looks at answers
	lost   = 60 * time.Second // a connection without an answer has failed
)

// burst connects all at once, and measures the time of all of them. It uses epoll itself. With
// goroutines and package net a connection would take more CPU time of the client than of the
// server.
func (c *client) burst(conns int) (values, error) {
	to, err := net.ResolveTCPAddr("tcp4", c.addr)
	if err != nil {
		return nil, err
	}
	before, err := machine.CPUTime(c.pid)
	if err != nil {
		return nil, err
	}
	b := &burst{client: c, asked: map[int32][]byte{}, to: &syscall.SockaddrInet4{
		Port: to.Port,
		Addr: [4]byte(to.IP.To4()),
	}, start: time.Now()}
	if b.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	defer syscall.Close(b.epoll)
	own := ownTime()
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
	own = ownTime() - own
	used, gone, err := c.used(before)
	return result(b.took, passed, used, own, gone), err
}

// burst is connections that each ask once.
type burst struct {
	*client
	to    syscall.Sockaddr
	epoll int
	open  int
	asked map[int32][]byte // what has arrived of each answer, by descriptor
	took  []time.Duration
	start time.Time
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
	return syscall.EpollCtl(b.epoll,
		syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{
			Fd:     int32(fd),
			Events: syscall.EPOLLIN | syscall.EPOLLOUT | edges,
		})
}

const edges = 1 << 31 // EPOLLET, which is negative in package syscall

// look waits for events and handles them.
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

// goOn asks or reads. It reports whether the answer is whole.
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
	return whole(got)
}

// whole reports whether an answer is whole by its Content-Length.
func whole(answer []byte) (bool, error) {
	head, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	if !ok {
		return false, nil
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200")) {
		return false, fmt.Errorf("the answer begins with %.60q", head)
	}
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
			return len(body) >= length, err
		}
	}
	return false, errors.New("the answer has no Content-Length")
}

// ownTime returns the processor time of this process.
func ownTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
