package httpd

import (
	"context"
	"errors"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"

	"evenkeel.dev/aio"
)

const (
	spareWorkers = 4           // that stay, of all loops, but at least 1 of each
	decay        = time.Second // after it half of the unused workers end

	// fewEvents bounds the events of a turn. With each read a system call, handlers that sleep
	// would otherwise all begin after the last of many reads.
	fewEvents = 32
)

// loop has a Watcher, the goroutine in its WaitIO, some connections, and the workers that serve
// them.
type loop struct {
	server  *server
	watcher *aio.Watcher
	number  int  // from 0
	batches bool // drive sends short answers together, if there are many

	mu     sync.Mutex // guards the rest, the connections and the workers
	counts Stats
	memory struct {
		held    int // bytes that only httpd keeps
		counted int // of these, in server.memory
	}
	parked wheel    // silent, or with part of a header, and without a worker
	expiry struct { // the first deadline of parked; timer is nil without one
		timer *time.Timer
		at    time.Duration
	}
	work struct {
		ready   []*conn // have bytes, and no worker
		few     [8]*conn
		idle    []*worker   // wait for ready; the last one is taken first
		count   int         // all workers
		heading int         // workers that wait for the rest of a header
		waking  bool        // a worker was woken or asked for, and has not looked yet
		unused  int         // the fewest idle workers since the last decay
		decays  *time.Timer // nil: no worker is idle
	}
	slice struct {
		began time.Time
		given int // connections since then
	}
	bytes struct {
		direct int // a worker sends a Write of this length or more by itself
		queued int
		unread int // memory of bytes that no handler has read
	}
	callbacks struct {
		later  []func() // unlock calls these, and hooked
		hooked []func() // the user's code
	}
	relief relief
}

func (s *server) newLoop() (*loop, error) {
	w, err := aio.New(aio.Options{
		Backend: s.bounds.Backend, Logger: s.log, MaxConns: s.bounds.MaxConns, MaxEvents: fewEvents,
		MaxQueuedBytes: 1 << 40, MaxWatcherBytes: 1 << 40,
	})
	if err != nil {
		return nil, err
	}
	l := &loop{server: s, watcher: w}
	l.batches = w.Stats().Backend == aio.BackendIOUring.String() // one call sends all that is queued
	l.work.ready = l.work.few[:0]
	return l, nil
}

// drive gives aio's results to their connections, until the watcher is closed. In CPU profiles it has
// the label httpd_loop, as have goroutines that it starts for ConnState.
func (l *loop) drive() {
	s := l.server
	labels := pprof.Labels("httpd_loop", strconv.Itoa(l.number))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels))
	for {
		results, err := l.watcher.WaitIO()
		if errors.Is(err, aio.ErrWatcherClosed) {
			return
		}
		if err != nil {
			s.log.Warn("httpd: the operating system refused to wait for connections: nothing is served any more",
				"error", err)
			s.fail(err)
			s.closeWatchers() // ends what workers and Serve wait for
			continue
		}
		for i := range results {
			if results[i].Op == aio.OpAccept {
				s.arrived(&results[i])
			}
		}
		l.mu.Lock()
		for i := range results {
			var c *conn
			switch tag := results[i].Tag.(type) {
			case *conn:
				c = tag
			case *sender:
				c = (*conn)(tag)
			default:
				continue
			}
			if !l.leaves(c, &results[i]) {
				c.done(&results[i])
			}
		}
		left := l.relief.left
		l.relief.left = nil
		l.unlock()
		for _, d := range left {
			d.deliver()
		}
	}
}

// holds counts bytes that only httpd keeps. The server's count changes in steps, because all loops
// share it.
func (l *loop) holds(bytes int) {
	l.memory.held += bytes
	change := l.memory.held - l.memory.counted
	if step := l.server.step(); change >= step || -change >= step {
		l.memory.counted = l.memory.held
		l.server.memory.Add(int64(change))
	}
}

// step is 1 with one loop. Otherwise the steps of all loops are 1/32 of MaxBytes.
func (s *server) step() int {
	if s.bounds.Loops == 1 {
		return 1
	}
	return int(min(max(s.bounds.MaxBytes/32/int64(s.bounds.Loops), 1), 1<<30))
}

// after calls f, the user's code, when mu is released.
func (l *loop) after(f func()) {
	if l.server.hooks.connState == nil {
		return
	}
	l.server.mu.Lock()
	l.server.running++
	l.server.mu.Unlock()
	l.callbacks.hooked = append(l.callbacks.hooked, f)
}

// unlock releases mu, and then calls the functions that must not run under it.
func (l *loop) unlock() {
	later, hooked := l.callbacks.later, l.callbacks.hooked
	l.callbacks.later, l.callbacks.hooked = nil, nil
	l.mu.Unlock()
	if len(later) > 0 {
		go func() {
			for _, f := range later {
				f()
			}
		}()
	}
	if len(hooked) > 0 {
		l.server.call(hooked)
	}
}

// ask makes net/http accept a worker.
func (l *loop) ask() {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = append(s.asking, l)
	s.needed.Signal()
}
