//go:build linux

package main

import (
	"net"
	"runtime"
	"syscall"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

func serveAio(c config, ready func(net.Addr)) error {
	p := pool{config: c}
	_, err := listenAio(c, ready, func(conn *aio.Conn) error {
		return conn.Read(nil, c.own(), aio.NoDeadline)
	}, func(r aio.Result) error {
		switch {
		case r.Error != nil:
			_ = r.Conn.Close()
		case r.Op == aio.OpRead:
			_ = r.Conn.Write(nil, p.answer(r.Buffer[:r.Size]), aio.NoDeadline)
		default:
			_ = r.Conn.Read(nil, p.next(r.Buffer), aio.NoDeadline)
		}
		return nil
	})
	return err
}

// listenAio returns at the first error.
func listenAio(
	c config, ready func(net.Addr), begin func(*aio.Conn) error, each func(aio.Result) error,
) (*aio.Watcher, error) {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return nil, err
	}
	l, err := w.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := l.AcceptMultishot(nil); err != nil {
		return nil, err
	}
	ready(l.Addr())
	for {
		results, err := w.WaitIO()
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			if r.Op != aio.OpAccept {
				err = each(r)
			} else if err = r.Error; err == nil {
				err = begin(r.Conn)
			}
			if err != nil {
				return w, err
			}
		}
	}
}

// serveOverAio is [serveGaio] with its import changed.
func serveOverAio(c config, ready func(net.Addr)) error {
	watcher, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	w, p := gaio.Over(watcher), pool{config: c}
	return accepting(ready, func(conn net.Conn) error { return w.Read(nil, conn, c.own()) }, func() error {
		for {
			results, err := w.WaitIO()
			if err != nil {
				return err
			}
			for _, r := range results {
				switch {
				case r.Error != nil:
					_ = w.Free(r.Conn)
				case r.Operation == gaio.OpRead:
					_ = w.Write(nil, r.Conn, p.answer(r.Buffer[:r.Size]))
				default:
					_ = w.Read(nil, r.Conn, p.next(r.Buffer))
				}
			}
		}
	})
}

// early connections page in the code and fill the pools. They are not counted.
const early = 512

type accepted struct {
	config
	seen        int
	cpu, allocs float64
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
	a := accepted{config: c}
	_, err := listenAio(c, ready, func(*aio.Conn) error { return a.one() }, func(aio.Result) error { return nil })
	return err
}
