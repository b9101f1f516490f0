package httpd

import (
	"cmp"
	"errors"
	"math"
	"runtime"
	"slices"
	"time"

	"evenkeel.dev/aio"
)

// Tests change these.
var (
	// crowded is the part of the time from which a loop is busy, and gives connections away.
	crowded = 0.25

	// uneven is how much busier than another a crowded loop has to be.
	uneven = 1.1

	balanceEvery = 100 * time.Millisecond

	// While the loops together are busy for less than quiet, quietEvery is enough.
	quiet      = 0.05
	quietEvery = time.Second
)

const (
	// refusedFor is the time between tries of a loop for which descriptors or memory are missing.
	refusedFor = time.Minute

	// Connections are active that have read in the last activeFor periods.
	activeFor = 8

	// If all loops are busy for this part of the time, balance counts their active connections.
	full = 0.7
)

// relief is what a busy loop gives away. The loop's mu guards it.
type relief struct {
	period uint8 // of balance
	to     *loop // nil: the loop keeps its connections
	budget int   // reads a period that go there
	reads  uint64
	before uint64 // reads until this period
	last   int    // in the period before
	left   []departure

	active int // connections, since the last multiple of activeFor
	usual  int // the same before that, with those that have moved since

	began, waited time.Duration // when the period began, and what the watcher had waited until then

	// Only balance writes these.
	seen  float64 // busy part of the time, of late
	busy  float64 // the same, with what moves should change
	conns int     // usual, when the period began
}

// departure is a result of a connection that has left the loop. moves says that the connection is on
// its way to the new one.
type departure struct {
	conn   *conn
	result *aio.Result
	moves  bool
}

// balance compares the loops again and again, until Serve ends.
func (s *server) balance() {
	timer := time.NewTimer(quietEvery)
	defer timer.Stop()
	for {
		select {
		case <-s.empty:
			return
		case <-timer.C:
			timer.Reset(s.compare())
		}
	}
}

// compare compares the loops once, and returns when to do so again.
func (s *server) compare() (next time.Duration) {
	loops := s.all()
	total := 0.0
	for _, l := range loops {
		total += l.look()
	}
	if len(loops) < s.bounds.Loops && lacksLoop(loops) && time.Since(s.refused) > refusedFor {
		loops = s.addLoop()
	}
	spread := len(loops) >= manyLoops && total >= crowded/2
	s.spread.Store(spread)
	least := crowded
	if spread { // workers send, so that loops are less busy
		least = 0
	}
	share(loops, total, least, float64(runtime.GOMAXPROCS(0)))
	if total <= quiet {
		return quietEvery
	}
	return balanceEvery
}

// lacksLoop reports whether a loop is crowded, and none has little to do.
func lacksLoop(loops []*loop) bool {
	return slices.ContainsFunc(loops, func(l *loop) bool { return l.relief.seen >= crowded }) &&
		!slices.ContainsFunc(loops, func(l *loop) bool { return l.relief.seen < crowded/2 })
}

// share lets loops that are busy, from least on, give half of the difference to those that are less
// so. If all have little to do, the first gets it. If no loop has time, each has the same number of
// active connections, because a connection's turn comes after those of all others.
func share(loops []*loop, total, least, procs float64) {
	if total < crowded/2 {
		for _, l := range loops[1:] {
			l.give(loops[0], 1)
		}
		return
	}
	few := func(l *loop) bool { return l.relief.busy < full && total < full*procs || l.relief.conns <= 0 }
	allFull := !slices.ContainsFunc(loops, few)
	load := func(l *loop) float64 {
		if allFull {
			return float64(l.relief.conns)
		}
		return l.relief.busy
	}
	sorted := slices.SortedFunc(slices.Values(loops), func(a, b *loop) int { return cmp.Compare(load(b), load(a)) })
	for i, from := range sorted[:len(sorted)/2] {
		to := sorted[len(sorted)-1-i]
		a, b := load(from), load(to)
		if a < least || a <= uneven*b {
			continue
		}
		from.give(to, (1-b/a)/2)
		if !allFull {
			from.expect((a + b) / 2)
			to.expect((a + b) / 2)
		}
	}
}

// expect says how busy the loop should be after a move.
func (l *loop) expect(busy float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.relief.busy = busy
}

// look begins a period, and returns how busy the loop was of late.
func (l *loop) look() float64 {
	waited := l.watcher.Stats().Waited
	now := time.Since(l.server.start)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &l.relief
	busy := min(max(1-float64(waited-v.waited)/float64(now-v.began), 0), 1)
	v.seen += (busy - v.seen) / 4
	v.busy += (busy - v.busy) / 4
	v.waited, v.began = waited, now
	v.period++
	v.last, v.before = int(v.reads-v.before), v.reads
	v.to, v.budget = nil, 0
	if v.period%activeFor == 0 {
		v.usual, v.active = v.active, 0
	}
	v.conns = v.usual
	return v.busy
}

// give lets so much of what the loop reads go to another loop.
func (l *loop) give(to *loop, part float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.relief.to, l.relief.budget = to, int(math.Ceil(part*float64(l.relief.last)))
}

// addLoop begins another loop, if that is possible, and returns all.
func (s *server) addLoop() []*loop {
	l, err := s.newLoop()
	if err == nil && l.watcher.Stats().Backend != s.first.watcher.Stats().Backend {
		_ = l.watcher.Close()
		err = errors.New("io_uring is missing now: raise the limit of locked memory (ulimit -l) or of descriptors")
	}
	if err != nil {
		if s.refused.IsZero() {
			s.log.Warn("httpd: no further event loop can begin, so fewer cores serve; it is tried again each minute",
				"reason", err)
		}
		s.refused = time.Now()
		return s.all()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		_ = l.watcher.Close()
		return s.loops
	}
	l.number = len(s.loops)
	l.relief.began, l.relief.period = time.Since(s.start), s.first.relief.period // only balance changes period
	s.loops = append(s.loops, l)
	go l.drive()
	return s.loops
}

// leaves reports whether a result is to be handled by deliver, because its connection has left the
// loop or leaves it now. A parked connection leaves with a read, when nothing is pending in aio. It
// is asked at its first read of a period, and counts as many reads as in the period before.
func (l *loop) leaves(c *conn, r *aio.Result) bool {
	v := &l.relief
	switch {
	case c.loop() != l:
		v.left = append(v.left, departure{c, r, false})
		return true
	case r.Op != aio.OpRead:
		return false
	}
	v.reads++
	if c.period == v.period {
		c.reads = min(c.reads, math.MaxUint16-1) + 1
		return false
	}
	if c.period/activeFor != v.period/activeFor {
		v.active++
	}
	n := 1
	if c.period == v.period-1 {
		n = max(int(c.reads), 1)
	}
	c.period, c.reads = v.period, 1
	if n > v.budget || r.Error != nil || !c.parked || c.held || c.out > 0 || c.leaving {
		return false
	}
	v.budget -= n
	v.active--
	v.usual--
	l.counts.Moved++
	l.unpark(c)
	c.home.Store(v.to)
	v.left = append(v.left, departure{c, r, true})
	return true
}

// deliver lets a connection go on with its result, in the loop that it has now. The caller holds no
// lock.
func (d departure) deliver() {
	c := d.conn
	l := c.lock()
	defer l.unlock()
	if d.moves && !c.ended && !c.ending {
		h, err := c.handle().Move(l.watcher)
		if err == nil {
			c.aio.Store(h)
		}
		if err != nil || l.server.closed.Load() { // err: a watcher is closed
			c.end()
		} else {
			l.relief.active++
			l.relief.usual++
			l.park(c)
		}
	}
	c.done(d.result)
}

// place returns a new connection of the loop, or of one that it gives connections to.
func (l *loop) place(h *aio.Conn) *conn {
	l.mu.Lock()
	to, period := l, l.relief.period
	if l.relief.budget > 0 {
		l.relief.budget--
		to = l.relief.to
	}
	l.mu.Unlock()
	moved, err := h.Move(to.watcher)
	if err != nil {
		to, moved = l, h
	}
	c := newConn(to, moved)
	c.period = period + math.MaxUint8/2 // it has not read yet
	return c
}
