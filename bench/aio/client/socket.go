//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// base is what times are counted from, in nanoseconds.
var base = time.Now()

func now() int64 { return int64(time.Since(base)) }

var errClosed = errors.New("the server closed the connection")

func read(fd int, p []byte) (int, error)  { return transfer(syscall.Read, fd, p) }
func write(fd int, p []byte) (int, error) { return transfer(syscall.Write, fd, p) }

// transfer returns 0 and nil if the call would have to wait.
func transfer(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, nil
		case err == nil && n == 0:
			return 0, errClosed
		}
		return max(n, 0), err
	}
}

// poller is an epoll instance that is polled without waiting.
type poller struct {
	fd     int
	events []syscall.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	return &poller{fd: fd, events: make([]syscall.EpollEvent, 1024)}, err
}

// add registers fd; what wait returns for it holds index.
func (p *poller) add(fd, index int, events uint32) error {
	return syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: events, Fd: int32(index)})
}

// wait returns the events there are.
func (p *poller) wait() ([]syscall.EpollEvent, error) {
	n, err := syscall.EpollWait(p.fd, p.events, 0)
	if err != nil && err != syscall.EINTR {
		return nil, err
	}
	return p.events[:max(n, 0)], nil
}

// socket returns a non-blocking socket that resets its connection when it is closed, so that no
// run leaves thousands of ports in TIME_WAIT to the next.
func socket() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return fd, errors.Join(
		syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}),
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
}

// connect connects. On loopback that is done when the call returns, unless the accept queue is
// full.
func connect(to syscall.SockaddrInet4) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	err = errors.Join(syscall.SetNonblock(fd, false), syscall.Connect(fd, &to), syscall.SetNonblock(fd, true))
	return fd, err
}

// message writes what connection i sends as its message seq into p, whose rest is a pattern.
func message(p []byte, i int, seq uint32) {
	binary.LittleEndian.PutUint32(p, uint32(i))
	binary.LittleEndian.PutUint32(p[4:], seq)
	binary.LittleEndian.PutUint32(p[len(p)-4:], seq)
}

// pattern returns a message without what [message] writes.
func pattern(size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

// large is the size of a message from which on it is compared in part, and needs room in the
// socket.
const large = 16 << 10

// check compares an answer with what was sent. To compare all bytes of a large one costs as much as
// the echo does, so most of those are compared at both ends only.
func check(got, want []byte, i int) error {
	const end = 8
	seq := binary.LittleEndian.Uint32(want[4:])
	last := len(want) - end
	if len(want) >= large && seq%64 != 0 {
		if bytes.Equal(got[:end], want[:end]) && bytes.Equal(got[last:], want[last:]) {
			return nil
		}
	} else if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("connection %d: the answer is not what was sent: %x, want %x", i, got[:8], want[:8])
}
