package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// database answers GET KEY with the key's value after queryTime, and stands still for stallTime once a second.
type database struct {
	listener net.Listener
	began    time.Time

	mu      sync.Mutex // guards conns
	conns   map[net.Conn]bool
	stopped bool
	wg      sync.WaitGroup
}

const (
	queryTime = 2 * time.Millisecond
	stallTime = 100 * time.Millisecond
)

// startDatabase listens on a free port of the loopback interface.
func startDatabase() (*database, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &database{listener: l, began: time.Now(), conns: map[net.Conn]bool{}}
	d.wg.Go(d.accept)
	return d, nil
}

func (d *database) addr() string { return d.listener.Addr().String() }

func (d *database) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		if d.stopped {
			c.Close()
		} else {
			d.conns[c] = true
			d.wg.Go(func() { d.serve(c) })
		}
		d.mu.Unlock()
	}
}

func (d *database) serve(c net.Conn) {
	defer func() {
		c.Close()
		d.mu.Lock()
		delete(d.conns, c)
		d.mu.Unlock()
	}()
	queries := bufio.NewScanner(c)
	for queries.Scan() {
		key, ok := strings.CutPrefix(queries.Text(), "GET ")
		if !ok {
			return
		}
		wait := queryTime
		if into := time.Since(d.began) % time.Second; into < stallTime {
			wait += stallTime - into
		}
		time.Sleep(wait)
		if _, err := fmt.Fprintf(c, "value of %s\n", key); err != nil {
			return
		}
	}
}

// stop returns when no goroutine of the database runs any more.
func (d *database) stop() {
	d.listener.Close()
	d.mu.Lock()
	d.stopped = true
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	d.wg.Wait()
}
