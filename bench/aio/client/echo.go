package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/bench/aio/wire"
)

// echo measures one large message at a time on one connection, as gaio's BenchmarkEcho64K does:
// write it, read it back whole.
func echo(c config) (*wire.Result, error) {
	c.conns, c.first = 1, 0
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	fd, err := connect(c.to)
	if err != nil {
		return nil, err
	}
	f.conns = append(f.conns, conn{fd: fd, rx: make([]byte, c.size)})
	still()
	if _, _, err := f.echoes(c.warmup); err != nil {
		return nil, err
	}
	f.hist.Reset()
	before, err := cpuTime(c.pid)
	if err != nil {
		return nil, err
	}
	n, took, err := f.echoes(c.length)
	if err != nil {
		return nil, err
	}
	after, err := cpuTime(c.pid)
	if err != nil {
		return nil, err
	}
	r := &wire.Result{Messages: n, Seconds: took.Seconds(), CPU: float64(after-before) / float64(n)}
	r.Latency, err = wire.Summary(f.hist)
	return r, err
}

// echoes sends messages for d, one after the other.
func (f *fleet) echoes(d time.Duration) (int64, time.Duration, error) {
	start := now()
	for n := int64(0); ; n++ {
		at := now()
		if at-start >= int64(d) && n > 0 {
			return n, time.Duration(at - start), nil
		}
		if err := f.echoOne(n%64 == 0); err != nil {
			return 0, 0, err
		}
		if err := f.hist.RecordValue(now() - at); err != nil {
			return 0, 0, err
		}
	}
}

// echoOne writes what the socket takes and reads what there is, until both are done. It asks
// the socket without waiting. Comparing all bytes costs as much as the echo does, so most
// messages are compared at both ends only.
func (f *fleet) echoOne(whole bool) error {
	c := &f.conns[0]
	c.seq++
	message(f.tx, 0, c.seq)
	deadline := now() + int64(f.patience)
	for sent, got := 0, 0; got < len(c.rx); {
		if sent < len(f.tx) {
			n, err := write(c.fd, f.tx[sent:])
			if err != nil {
				return err
			}
			sent += n
		}
		n, err := read(c.fd, c.rx[got:])
		if err != nil {
			return err
		}
		if got += n; n == 0 && now() > deadline {
			return fmt.Errorf("the server is stuck: no answer for %v after %d of %d bytes", f.patience, got, len(c.rx))
		}
	}
	if whole {
		return check(c.rx, f.tx, 0)
	}
	const end = 8
	return errors.Join(check(c.rx[:end], f.tx[:end], 0), check(c.rx[len(c.rx)-end:], f.tx[len(f.tx)-end:], 0))
}

// hold opens connections that have spoken once and are silent then: some to warm the server up
// and, when its input says so, the others. It keeps them until its input ends.
func hold(c config) (*wire.Result, error) {
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	input := bufio.NewReader(os.Stdin)
	if err := f.dial(c.first); err != nil {
		return nil, err
	}
	fmt.Println(wire.Warm)
	if _, err := input.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("nobody asks for the other connections: %w", err)
	}
	if err := f.dial(c.conns); err != nil {
		return nil, err
	}
	fmt.Println(wire.Held)
	for _, err := input.ReadString('\n'); err == nil; _, err = input.ReadString('\n') {
	}
	for _, c := range f.conns {
		_ = syscall.Close(c.fd)
	}
	return nil, nil
}
