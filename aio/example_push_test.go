package aio_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"evenkeel.dev/aio"
)

// clients are the connections that lines are pushed to, each with the number of its writes under
// way. Any goroutine may push.
type clients struct {
	mu      sync.Mutex
	waiting map[*aio.Conn]int
	missed  int
}

// busy returns how many clients have writes under way.
func (c *clients) busy() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, waiting := range c.waiting {
		n += min(waiting, 1)
	}
	return n
}

// push submits one write for each client, of one and the same buffer. A client with a full backlog
// misses the line, and does not delay the others.
func (c *clients) push(line []byte) {
	const backlog = 4
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, n := range c.waiting {
		if n == backlog {
			c.missed++ // or conn.Close()
		} else if conn.Write(nil, line, aio.NoDeadline) == nil {
			c.waiting[conn]++
		}
	}
}

// change adds n to a client's writes under way.
func (c *clients) change(conn *aio.Conn, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[conn] += n
}

// A server that pushes to everybody who is connected. It bounds the backlog of a client that does
// not read fast enough.
func Example_push() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := w.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	l.AcceptMultishot(nil)
	c := &clients{waiting: map[*aio.Conn]int{}}
	served, came := make(chan struct{}), make(chan struct{}, 2)
	go func() {
		defer close(served)
		for {
			results, err := w.WaitIO()
			if err != nil {
				return // ErrWatcherClosed
			}
			for _, r := range results {
				switch {
				case r.Op == aio.OpAccept && r.More:
					c.change(r.Conn, 0)
					came <- struct{}{}
				case r.Op == aio.OpWrite && r.Error == nil:
					c.change(r.Conn, -1)
				case r.Op == aio.OpWrite:
					r.Conn.Close()
				}
			}
		}
	}()

	var conns [2]net.Conn
	for i := range conns {
		if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			log.Fatal(err)
		}
		<-came
	}
	// One client reads, and the other never does. The kernel buffers some megabytes for it.
	line, got := make([]byte, 256<<10), make([]byte, 256<<10)
	for c.missed == 0 {
		c.push(line)
		if _, err := io.ReadFull(conns[0], got); err != nil {
			log.Fatal(err)
		}
		for c.busy() > 1 { // the server hears of the write a moment later
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("one got all lines, the other missed", c.missed)

	for _, conn := range conns {
		conn.Close()
	}
	w.Close()
	<-served
	// Output:
	// one got all lines, the other missed 1
}
