package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"evenkeel.dev/bench/aio/syscount"
	"evenkeel.dev/bench/aio/wire"
)

// conn is a connection with one message under way.
type conn struct {
	fd   int
	got  int // bytes of the answer
	seq  uint32
	sent int64
	rx   []byte
}

// fleet is all connections. Owned by the main goroutine.
type fleet struct {
	config
	poll  *poller
	conns []conn
	tx    []byte
	hist  *hdrhistogram.Histogram
	last  int64 // when an answer was complete
}

func newFleet(c config) (*fleet, error) {
	p, err := newPoller()
	n := c.conns + c.first
	f := &fleet{config: c, poll: p, tx: pattern(c.size), hist: wire.NewHistogram(), conns: make([]conn, 0, n)}
	return f, err
}

// dial opens n more connections and has a message answered on each. It does so in batches that
// no accept queue is too short for.
func (f *fleet) dial(n int) error {
	const batch = 250
	arena := make([]byte, n*f.size)
	for n > 0 {
		from := len(f.conns)
		for range min(n, batch) {
			c := conn{rx: arena[:f.size:f.size]}
			arena = arena[f.size:]
			var err error
			if c.fd, err = connect(f.to); err != nil {
				return fmt.Errorf("connection %d: %w", len(f.conns), err)
			}
			if err := f.poll.add(c.fd, len(f.conns), syscall.EPOLLIN); err != nil {
				return err
			}
			f.conns = append(f.conns, c)
		}
		n -= len(f.conns) - from
		if err := f.round(from); err != nil {
			return err
		}
	}
	return nil
}

// connect connects, which on loopback is done when the call returns unless the accept queue is
// full.
func connect(to syscall.SockaddrInet4) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	err = errors.Join(syscall.SetNonblock(fd, false), syscall.Connect(fd, &to), syscall.SetNonblock(fd, true))
	return fd, err
}

// round sends a message on every connection from one on, and waits for all answers.
func (f *fleet) round(from int) error {
	for i := from; i < len(f.conns); i++ {
		if err := f.send(i, now()); err != nil {
			return err
		}
	}
	f.last = now()
	for left := len(f.conns) - from; left > 0; {
		n, err := f.turn(false)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// send sends connection i's next message; one message always fits into an empty socket.
func (f *fleet) send(i int, at int64) error {
	c := &f.conns[i]
	c.seq++
	c.sent, c.got = at, 0
	message(f.tx, i, c.seq)
	n, err := write(c.fd, f.tx)
	if err == nil && n < len(f.tx) {
		err = errors.New("the socket takes no whole message")
	}
	if err != nil {
		return fmt.Errorf("connection %d: %w", i, err)
	}
	return nil
}

// turn takes the answers that are there and, if again is true, sends the next message after each.
// It returns how many answers were complete.
func (f *fleet) turn(again bool) (int, error) {
	events, err := f.poll.wait()
	if err != nil {
		return 0, err
	}
	answered := 0
	for _, e := range events {
		i := int(e.Fd)
		c := &f.conns[i]
		n, err := read(c.fd, c.rx[c.got:])
		if err != nil {
			return 0, fmt.Errorf("connection %d: %w", i, err)
		}
		if c.got += n; c.got < len(c.rx) {
			continue
		}
		t := now()
		message(f.tx, i, c.seq)
		if err := check(c.rx, f.tx, i); err != nil {
			return 0, err
		}
		answered++
		f.last = t
		c.got = 0
		if !again {
			continue
		}
		if err := f.hist.RecordValue(t - c.sent); err != nil {
			return 0, err
		}
		if err := f.send(i, t); err != nil {
			return 0, err
		}
	}
	if answered == 0 && now()-f.last > int64(f.patience) {
		return 0, fmt.Errorf("the server is stuck: no answer for %v on any of %d connections", f.patience, len(f.conns))
	}
	return answered, nil
}

// during keeps every connection's message going for d. It returns the number of answers and the
// time that they took.
func (f *fleet) during(d time.Duration) (int64, time.Duration, error) {
	start := now()
	f.last = start
	var all int64
	for now()-start < int64(d) {
		n, err := f.turn(true)
		if err != nil {
			return 0, 0, err
		}
		all += int64(n)
	}
	return all, time.Duration(now() - start), nil
}

// pingpong measures one message under way on each connection.
func pingpong(c config) (*wire.Result, error) {
	c.first = 0
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	if err := f.dial(c.conns); err != nil {
		return nil, err
	}
	still()
	for i := range f.conns {
		if err := f.send(i, now()); err != nil {
			return nil, err
		}
	}
	if _, _, err := f.during(c.warmup); err != nil {
		return nil, err
	}
	f.hist.Reset()
	r, err := f.measure()
	if err != nil {
		return nil, err
	}
	if r.Latency, err = wire.Summary(f.hist); err != nil {
		return nil, err
	}
	if c.traced == 0 {
		return r, nil
	}
	if r.Syscalls, err = f.trace(); err != nil {
		r.Untraced = err.Error() // what was measured before is no worse for it
	}
	return r, nil
}

// measure is the measured time.
func (f *fleet) measure() (*wire.Result, error) {
	if err := f.mark(syscall.SIGUSR2); err != nil {
		return nil, err
	}
	before, err := cpuTime(f.pid)
	if err != nil {
		return nil, err
	}
	n, took, err := f.during(f.length)
	if err != nil {
		return nil, err
	}
	after, err := cpuTime(f.pid)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("no answer in %v on %d connections", f.length, len(f.conns))
	}
	r := &wire.Result{Messages: n, Seconds: took.Seconds(), CPU: float64(after-before) / float64(n)}
	return r, f.mark(syscall.SIGWINCH)
}

// mark tells the server where the measured time begins and ends: by a signal each, as of two alike a server that
// is kept waiting gets one.
func (f *fleet) mark(sig syscall.Signal) error {
	if !f.config.mark {
		return nil
	}
	return syscall.Kill(f.pid, sig)
}

// trace counts the server's system calls for each message. The tracepoint slows the server, so
// nothing else is measured meanwhile.
func (f *fleet) trace() (float64, error) {
	c, err := syscount.Open(f.pid)
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	n, _, err := f.during(f.traced)
	calls, serr := c.Stop()
	if err := errors.Join(err, serr); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("no answer in %v while system calls were counted", f.traced)
	}
	return float64(calls) / float64(n), nil
}
