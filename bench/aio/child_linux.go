package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
)

// Server and client have a core each, of those that the driver may run on; the driver sleeps
// meanwhile.
const (
	serverCore = iota // the first
	clientCore        // the second
)

// peer is a server or a client that the driver started.
type peer struct {
	*child.Child
	name  string
	lines lines // of its output
}

// start starts argv on one core with one P.
func (d *driver) start(ctx context.Context, argv []string, core int) (*peer, error) {
	c := &peer{name: filepath.Base(argv[0]), lines: lines{whole: make(chan string, 64), over: make(chan struct{})}}
	var err error
	c.Child, err = child.Start(ctx, child.Options{
		Args: argv, Env: []string{"GOMAXPROCS=1"}, Input: true, Stdout: &c.lines, StopTimeout: 2 * time.Second,
		Launch: func(start func() error) error { return machine.Pinned(core, start) },
	})
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: make bench-aio builds it", err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// line returns the next line of the peer's output.
func (c *peer) line(ctx context.Context, patience time.Duration) (string, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s := <-c.lines.whole:
		return s, nil
	case <-c.Exited():
		select {
		case s := <-c.lines.whole: // it was said before
			return s, nil
		default:
			return "", fmt.Errorf("%s ended early: %s", c.name, c.complaint())
		}
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-timer.C:
		return "", fmt.Errorf("%s is stuck: it said nothing for %v: %s", c.name, patience, c.complaint())
	}
}

// complaint returns the end of what the peer has said on its standard error.
func (c *peer) complaint() string {
	_, said := c.Output()
	return strings.TrimSpace(said[max(0, len(said)-500):])
}

// end ends the peer: politely first, as the kernel may hold on to the sockets of one that is
// killed. How it ended says nothing: it was told to.
func (c *peer) end() {
	close(c.lines.over)
	_ = c.Stop()
}

// lines makes lines of what is written to it, by one goroutine, which waits for who reads them
// until they are over.
type lines struct {
	whole chan string
	over  chan struct{} // closed when nobody reads any more
	part  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	for {
		line, rest, ended := bytes.Cut(l.part, []byte{'\n'})
		if !ended {
			return len(p), nil
		}
		select {
		case l.whole <- string(line):
		case <-l.over:
		}
		l.part = rest
	}
}

// resident returns what of a process is in memory, in bytes: all of it, and its own pages, without
// those of files.
func resident(pid int) (all, anonymous float64, err error) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	var fields [3]float64
	for i, name := range []string{"VmRSS", "RssAnon", "RssShmem"} {
		n, perr := strconv.ParseFloat(strings.TrimSuffix(machine.Field(status, name), " kB"), 64)
		fields[i], err = n*1024, errors.Join(err, perr)
	}
	return fields[0], fields[1] + fields[2], err
}
