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
	"evenkeel.dev/bench/aio/wire"
)

// The servers in this file are of package aio alone: what they do is what a server may not suffer from.

// closedAio writes to each connection that comes, and closes it.
func closedAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	part := bytes.Repeat([]byte{7}, wire.FreedSize)
	return listenAio(c, w, ready, func(conn *aio.Conn) error {
		for range wire.FreedWrites {
			if err := conn.Write(nil, part, aio.NoDeadline); err != nil {
				return err
			}
		}
		return conn.Close()
	}, func(aio.Result) error { return nil })
}

// gather returns a watcher with c.conns connections.
func gather(c config, ready func(net.Addr)) (*aio.Watcher, []*aio.Conn, error) {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return nil, nil, err
	}
	var conns []*aio.Conn
	err = listenAio(c, w, ready, func(conn *aio.Conn) error {
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

// errAll says that all connections are there.
var errAll = errors.New("all have come")

// deadlinesAio has c.n reads of silent peers end at their deadlines, which are 10 µs apart, on each connection, and says how
// late they ended and for how long WaitIO was silent meanwhile.
func deadlinesAio(c config, ready func(net.Addr)) error {
	w, conns, err := gather(c, ready)
	if err != nil {
		return err
	}
	due := make([]time.Time, c.n*len(conns))
	first := time.Now().Add(time.Second) // when all have been submitted
	for i := range due {
		due[i] = first.Add(time.Duration(i) * 10 * time.Microsecond)
	}
	order := rand.New(rand.NewPCG(19, 1)).Perm(len(due))
	for i := range order {
		switch c.order {
		case "up":
			order[i] = i
		case "down":
			order[i] = len(due) - 1 - i
		}
	}
	for k, i := range order {
		if err := conns[k%len(conns)].Read(&due[i], nil, due[i]); err != nil {
			return err
		}
	}
	var late, gap time.Duration
	early := 0
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
			by := now.Sub(*r.Tag.(*time.Time))
			if by < 0 {
				early++
			}
			late = max(late, by)
		}
		left -= len(rs)
	}
	say(map[string]float64{"deadlines": float64(len(due)), "early": float64(early), "late_ms": milliseconds(late), "gap_ms": milliseconds(gap)})
	select {}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// queuedAio submits c.n writes on each connection but the first, and meanwhile small ones on that, one after the other. It
// says how long these took.
func queuedAio(c config, ready func(net.Addr)) error {
	w, conns, err := gather(c, ready)
	if err != nil {
		return err
	}
	part, small := bytes.Repeat([]byte{7}, c.buf), []byte("small")
	for range c.n {
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
	var took []time.Duration
	for left := c.n * (len(conns) - 1); left > 0 || took == nil; {
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
			took = append(took, time.Since(begun))
			begun = time.Now()
			if err := conns[0].Write(nil, small, aio.NoDeadline); err != nil {
				return err
			}
		}
	}
	var all, most time.Duration
	for _, d := range took {
		all, most = all+d, max(most, d)
	}
	say(map[string]float64{"small": float64(len(took)), "mean_ms": milliseconds(all) / float64(len(took)), "max_ms": milliseconds(most)})
	select {}
}

// unreadAio sends c.n writes to each of the first connections, which nobody reads, and echoes on the others.
func unreadAio(c config, ready func(net.Addr)) error {
	w, err := aio.New(aio.Options{Backend: c.backend})
	if err != nil {
		return err
	}
	part := bytes.Repeat([]byte{7}, c.buf)
	unread := make(chan *aio.Conn, c.conns)
	go func() { // submitting is not what is measured: the loop has its turn after each connection
		for conn := range unread {
			for range c.n {
				if err := conn.Write(&part, part, aio.NoDeadline); err != nil {
					log.Fatal("server: unread: ", err)
				}
			}
			runtime.Gosched()
		}
	}()
	seen := 0
	return listenAio(c, w, ready, func(conn *aio.Conn) error {
		if seen++; seen > c.conns {
			return conn.Read(nil, make([]byte, 4096), aio.NoDeadline)
		}
		unread <- conn
		return nil
	}, func(r aio.Result) error {
		switch {
		case r.Error != nil:
			return r.Conn.Close()
		case r.Tag != nil: // a part went out
			return nil
		case r.Op == aio.OpRead:
			return r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
		}
		return r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
	})
}
