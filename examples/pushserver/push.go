package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"evenkeel.dev/aio"
)

// pusher has a goroutine for push and one for serve.
type pusher struct {
	settings
	log *slog.Logger

	mu           sync.Mutex
	clients      map[*client]bool
	lines        int
	dropped      int // lines, because of a full backlog
	disconnected int // clients, because of it
}

// client is a connection; it is the tag of its operations.
type client struct {
	conn    *aio.Conn
	waiting int // lines written and not done. Guarded by pusher.mu
}

// push writes a line to everybody, so often, until ctx is done.
func (p *pusher) push(ctx context.Context) {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			p.pushLine(now)
		}
	}
}

// pushLine submits one write for each client, of one and the same buffer. None of them waits.
func (p *pusher) pushLine(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines++
	line := fmt.Appendf(nil, "%d %s", p.lines, now.Format(time.RFC3339Nano))
	if n := p.size - len(line) - 1; n > 0 {
		line = append(line, bytes.Repeat([]byte(" "), n)...)
	}
	line = append(line, '\n')
	for c := range p.clients {
		err := aio.ErrQueueFull
		if c.waiting < p.backlog {
			err = c.conn.Write(c, line, aio.NoDeadline)
		}
		switch {
		case err == nil:
			c.waiting++
		case err != aio.ErrQueueFull:
			p.drop(c)
		case p.slow == "disconnect":
			p.disconnected++
			p.log.Info("disconnected a slow reader", "peer", c.conn.RemoteAddr(), "lines waiting", c.waiting)
			p.drop(c)
		default:
			p.dropped++
		}
	}
}

// serve accepts who comes, and takes the completions until WaitIO fails: with aio.ErrWatcherClosed, mostly.
func (p *pusher) serve(w *aio.Watcher, l *aio.Listener) error {
	for range accepts {
		_ = l.Accept(nil, aio.NoDeadline) // fails when w is closed: WaitIO says so
	}
	for {
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Op == aio.OpAccept {
				p.accepted(r.Conn, r.Error)
				_ = l.Accept(nil, aio.NoDeadline)
				continue
			}
			c := r.Tag.(*client)
			err := r.Error
			if r.Op == aio.OpWrite {
				p.mu.Lock()
				c.waiting--
				p.mu.Unlock()
			} else if err == nil {
				err = c.conn.Read(c, nil, aio.NoDeadline) // what it says is not of interest
			}
			if err != nil && err != aio.ErrWatcherClosed { // at the end, the writes still go out
				p.remove(c)
			}
		}
	}
}

func (p *pusher) accepted(conn *aio.Conn, err error) {
	if err != nil {
		if err != aio.ErrWatcherClosed {
			p.log.Warn("cannot accept", "error", err)
		}
		return
	}
	c := &client{conn: conn}
	p.mu.Lock()
	p.clients[c] = true
	p.mu.Unlock()
	if err := conn.Read(c, nil, aio.NoDeadline); err != nil { // until it ends
		p.remove(c)
	}
}

func (p *pusher) remove(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(c)
}

// drop closes a connection. The caller holds mu.
func (p *pusher) drop(c *client) {
	delete(p.clients, c)
	_ = c.conn.Close()
}
