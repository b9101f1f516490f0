//go:build linux

package main

import (
	"net"
	"runtime"
	"syscall"

	"evenkeel.dev/aio"
)

// early connections come before those that are counted. They page in the code and fill the pools.
const early = 512

// accepted counts connections. The goroutine that accepts owns it.
type accepted struct {
	config
	seen        int
	cpu, allocs float64 // before the first that counts
}

func (a *accepted) one() error {
	if a.seen++; a.seen != early && a.seen != early+a.count {
		return nil
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	cpu, allocs := float64(used.Utime.Nano()+used.Stime.Nano()), float64(m.Mallocs)
	if a.seen == early {
		a.cpu, a.allocs = cpu, allocs
		return nil
	}
	n := float64(a.count)
	say(map[string]float64{"CPU µs/connection": (cpu - a.cpu) / 1e3 / n, "allocs/connection": (allocs - a.allocs) / n})
	return nil
}

// acceptRaw is accept4 in a loop, the control.
func acceptRaw(c config, ready func(net.Addr)) error {
	ln, err := listen()
	if err != nil {
		return err
	}
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	fd := int(f.Fd()) // makes it blocking
	ready(ln.Addr())
	for a := (accepted{config: c}); ; {
		_, _, err := syscall.Accept4(fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR || err == syscall.ECONNABORTED {
			continue
		}
		if err == nil {
			err = a.one()
		}
		if err != nil {
			return err
		}
	}
}

func acceptAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	a := accepted{config: c}
	return listenAio(w, ready, func(*aio.Conn) error { return a.one() }, func(aio.Result) error { return nil })
}
