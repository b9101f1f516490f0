//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"runtime"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/loadgen"
)

func gather(c config, ready func(net.Addr)) (*aio.Watcher, []*aio.Conn, error) {
	var conns []*aio.Conn
	w, err := listenAio(c, ready, func(conn *aio.Conn) error {
		if conns = append(conns, conn); len(conns) == c.conns {
			return errAll
		}
		return nil
	}, func(r aio.Result) error { return r.Error })
	if !errors.Is(err, errAll) {
		return nil, nil, err
	}
	return w, conns, nil
}

var errAll = errors.New("all have come")

// deadlinesAio submits c.count reads from each silent peer, with deadlines 10 µs apart, in random order. It prints
// how late they ended, and the longest time without a result.
func deadlinesAio(c config, ready func(net.Addr)) error {
	w, conns, err := gather(c, ready)
	if err != nil {
		return err
	}
	due := make([]time.Time, c.count*len(conns))
	first := time.Now().Add(time.Second) // after the last read is submitted
	for i := range due {
		due[i] = first.Add(time.Duration(i) * 10 * time.Microsecond)
	}
	for k, i := range rand.New(rand.NewPCG(19, 1)).Perm(len(due)) {
		if err := conns[k%len(conns)].Read(&due[i], nil, due[i]); err != nil {
			return err
		}
	}
	var late, gap time.Duration
	last := first
	for left := len(due); left > 0; {
		rs, err := w.WaitIO()
		if err != nil {
			return err
		}
		now := time.Now()
		if now.After(first) {
			gap, last = max(gap, now.Sub(last)), now
		}
		for _, r := range rs {
			if r.Error != aio.ErrDeadline {
				return fmt.Errorf("a read of a silent peer ended with %d bytes, %w", r.Size, r.Error)
			}
			late = max(late, now.Sub(*r.Tag.(*time.Time)))
		}
		left -= len(rs)
	}
	say(map[string]float64{"deadline late": milliseconds(late), "WaitIO silent": milliseconds(gap)})
	select {}
}

// queuedAio prints the latency of small writes on the first connection.
func queuedAio(c config, ready func(net.Addr)) error {
	w, conns, err := gather(c, ready)
	if err != nil {
		return err
	}
	part, small := bytes.Repeat([]byte{7}, c.size), []byte("small")
	for range c.count {
		for _, conn := range conns[1:] {
			if err := conn.Write(nil, part, aio.NoDeadline); err != nil {
				return err
			}
		}
	}
	begun := time.Now()
	if err := conns[0].Write(nil, small, aio.NoDeadline); err != nil {
		return err
	}
	var took loadgen.Histogram
	for left := c.count * (len(conns) - 1); left > 0 || took.Count() == 0; {
		rs, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range rs {
			switch {
			case r.Error != nil:
				return fmt.Errorf("a write: %d bytes, %w", r.Size, r.Error)
			case r.Conn != conns[0]:
				left--
				continue
			}
			took.Record(time.Since(begun))
			begun = time.Now()
			if err := conns[0].Write(nil, small, aio.NoDeadline); err != nil {
				return err
			}
		}
	}
	say(map[string]float64{"max": milliseconds(took.Max()), "p50": milliseconds(took.Quantile(.5))})
	select {}
}

func unreadAio(c config, ready func(net.Addr)) error {
	part := bytes.Repeat([]byte{7}, c.size)
	unread := make(chan *aio.Conn, c.conns)
	go func() { // submitting is not measured, so it yields after each connection
		for conn := range unread {
			for range c.count {
				if err := conn.Write(&part, part, aio.NoDeadline); err != nil {
					log.Fatal("unread: ", err)
				}
			}
			runtime.Gosched()
		}
	}()
	seen := 0
	_, err := listenAio(c, ready, func(conn *aio.Conn) error {
		if seen++; seen > c.conns {
			return conn.Read(nil, make([]byte, 4096), aio.NoDeadline)
		}
		unread <- conn
		return nil
	}, func(r aio.Result) error {
		switch {
		case r.Error != nil:
			return r.Conn.Close()
		case r.Tag != nil:
			return nil
		case r.Op == aio.OpRead:
			return r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
		}
		return r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
	})
	return err
}
