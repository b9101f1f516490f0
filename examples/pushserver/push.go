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
		if c.waiting == p.backlog {
			p.full(c)
		} else if c.conn.Write(c, line, aio.NoDeadline) == nil { // else there is no result: serve ends
			c.waiting++
		}
	}
}

// full does what -slow says to a client that gets no more lines. The caller holds mu.
func (p *pusher) full(c *client) {
	if p.slow == "drop" {
		p.dropped++
		return
	}
	p.disconnected++
	p.log.Info("disconnected a slow reader", "peer", c.conn.RemoteAddr(), "lines waiting", c.waiting)
	p.drop(c)
}

// serve accepts who comes, and takes the completions until WaitIO fails: with aio.ErrWatcherClosed,
// mostly. Each operation has one, also one that is refused. A submission fails only when w is
// closed, which WaitIO says too.
func (p *pusher) serve(w *aio.Watcher, l *aio.Listener) error {
	_ = l.AcceptMultishot(nil)
	for {
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Op == aio.OpAccept && r.More {
				p.accepted(r.Conn)
				continue
			}
			if r.Op == aio.OpAccept { // the last one
				if r.Error != aio.ErrWatcherClosed {
					return fmt.Errorf("no more connections are accepted: %w", r.Error)
				}
				continue
			}
			c := r.Tag.(*client)
			if r.Op == aio.OpRead && r.Error == nil {
				_ = c.conn.Read(c, nil, aio.NoDeadline) // what it says is not of interest
			}
			p.over(c, &r)
		}
	}
}

func (p *pusher) accepted(conn *aio.Conn) {
	c := &client{conn: conn}
	p.mu.Lock()
	p.clients[c] = true
	p.mu.Unlock()
	_ = conn.Read(c, nil, aio.NoDeadline) // until it ends
}

// over takes what came of a client's operation.
func (p *pusher) over(c *client, r *aio.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Op == aio.OpWrite {
		c.waiting--
	}
	switch {
	case r.Error == nil, r.Error == aio.ErrWatcherClosed: // at the end, the writes still go out
	case r.Error == aio.ErrQueueFull && p.clients[c]: // by bytes
		p.full(c)
	default:
		p.drop(c)
	}
}

// drop closes a connection. The caller holds mu.
func (p *pusher) drop(c *client) {
	delete(p.clients, c)
	_ = c.conn.Close()
}
