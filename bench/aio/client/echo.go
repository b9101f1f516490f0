//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// echo measures one large message at a time on one connection, as gaio's BenchmarkEcho64K does:
// write it, read it back whole.
func echo(c *config) (values, error) {
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
	v, err := f.measure(f.echoes)
	if err == nil {
		v["MB/s"] = v["messages/s"] * float64(c.size) / 1e6
	}
	return v, err
}

// echoes sends messages for d, one after the other.
func (f *fleet) echoes(d time.Duration) (n int64, took time.Duration, err error) {
	for start := now(); ; n++ {
		at := now()
		if at-start >= int64(d) && n > 0 {
			return n, time.Duration(at - start), nil
		}
		if err := f.echoOne(n%64 == 0); err != nil {
			return 0, 0, err
		}
		f.hist.Record(time.Duration(now() - at))
	}
}

// echoOne writes what the socket takes and reads what there is, until both are done. It polls the
// socket. To compare all bytes costs as much as the echo does, so most messages are compared at
// both ends only.
func (f *fleet) echoOne(whole bool) error {
	c := &f.conns[0]
	c.seq++
	message(f.tx, 0, c.seq)
	deadline := now() + int64(patience)
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
			return fmt.Errorf("no answer for %v after %d of %d bytes", patience, got, len(c.rx))
		}
	}
	if whole {
		return check(c.rx, f.tx, 0)
	}
	const end = 8
	last := len(c.rx) - end
	return errors.Join(check(c.rx[:end], f.tx[:end], 0), check(c.rx[last:], f.tx[last:], 0))
}

// hold opens connections that have spoken once and are silent then: some to warm the server up, and
// the others when its input has a line. It keeps them until the next line.
func hold(c *config) (values, error) {
	const first = 100
	f, err := newFleet(c)
	if err != nil {
		return nil, err
	}
	input := bufio.NewReader(os.Stdin)
	for _, part := range []struct {
		conns int
		said  string
	}{{first, "warm"}, {c.conns, "held"}} {
		if err := f.dial(part.conns); err != nil {
			return nil, err
		}
		fmt.Println(part.said)
		if _, err := input.ReadString('\n'); err != nil && err != io.EOF {
			return nil, err
		}
	}
	return values{}, nil
}
