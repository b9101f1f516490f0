package aio

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/internal/proactor"
)

const (
	// batch is the most submissions that are begun before others may complete.
	batch = 256

	// yieldAfter is how long WaitIO keeps its P from other goroutines while there is always
	// something to return; yieldCount saves looking at the clock.
	yieldAfter = time.Millisecond
	yieldCount = 32

	// maxFree is how many operations are kept for reuse.
	maxFree = 8192
)

// loop is a Watcher's inside; the Watcher itself is what the garbage collector finds forgotten.
//
// Lock order: waiting, mu, subMu.
type loop struct {
	options   Options
	backend   proactor.Backend
	start     time.Time            // deadlines count from it
	forgotten func(*proactor.Desc) // forget, allocated once
	affinity  atomic.Int32         // the CPU to bind to, plus one; 0: nothing to do

	waiting   sync.Mutex // held by the goroutine in WaitIO, to which the next four belong
	results   []OpResult
	unyielded int           // transfers since the clock was looked at
	yielded   time.Duration // when other goroutines last had their turn
	skipped   bool          // the last turn did not ask the kernel

	mu        sync.Mutex
	incoming  proactor.Queue // taken from subs, not begun
	ended     proactor.Queue // to be returned
	pending   int            // begun, not ended
	polled    []*proactor.Op
	deadlines deadlines
	starved   []*proactor.Desc // for whose transfers the kernel had no memory
	busy      bool             // the backend could not submit all, for lack of memory
	swap      []byte
	swapUsed  int
	swapHeld  bool             // by operations that have ended and were not returned
	live      int              // delegated connections
	handles   []*proactor.Desc // those of Attach, each at its Key
	local     net.Addr         // of the last of them
	shut      bool             // the backend is closed
	drained   chan struct{}    // not nil: Shutdown waits until nothing is pending
	gcFound   uint32
	gcClosed  uint32
	stats     Stats

	subMu  sync.Mutex
	subs   proactor.Queue // submitted
	spare  proactor.Queue // operations for reuse
	spares int
	conns  map[uintptr]*proactor.Desc
	asleep bool // the goroutine in WaitIO has to be woken
	closed bool // no more submissions
}

func newLoop(o Options, b proactor.Backend) *loop {
	l := &loop{
		options: o, backend: b, start: time.Now(),
		conns: map[uintptr]*proactor.Desc{},
	}
	l.forgotten = l.forget
	if !b.Recycle() {
		l.swap = make([]byte, o.SwapSize)
	}
	return l
}

// waitIO is WaitIO.
func (l *loop) waitIO() ([]OpResult, error) {
	if !l.waiting.TryLock() {
		return nil, ErrWaiting
	}
	defer l.waiting.Unlock()
	if l.affinity.Load() != 0 {
		l.bind()
	}
	l.unyielded += len(l.results)
	l.yield()
	clear(l.results) // they keep connections alive
	l.results = l.results[:0]

	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.swapHeld && !l.shut { // reads may have ended in Free
		l.swapUsed = 0
		l.backend.Recycle()
	}
	for {
		var idle bool
		var err error
		if !l.shut {
			idle, err = l.turn()
		}
		if l.ended.Head != nil {
			return l.collect(), nil
		}
		if l.shut {
			return nil, ErrWatcherClosed
		}
		switch {
		case err != nil:
		case idle:
			err = l.park()
		default: // transfers of operations that are not over yet
			l.mu.Unlock()
			l.yield()
			l.mu.Lock()
		}
		if err != nil && !l.shut {
			return nil, err
		}
	}
}

// turn begins what was submitted, continues what the kernel has finished, and ends what is late.
// It was idle when it has given the backend nothing that the next Poll would have to submit.
func (l *loop) turn() (idle bool, err error) {
	l.intake(batch)
	for _, d := range l.starved {
		d.Starved = false
	}
	starved := len(l.starved)
	for _, d := range l.starved[:starved] {
		l.run(d, proactor.In)
		l.run(d, proactor.Out)
	}
	l.starved = l.starved[:copy(l.starved, l.starved[starved:])] // run may have appended
	// What could be done at once is over; then the kernel is asked the next time, so that a few
	// busy connections do not keep the others waiting.
	if l.ended.Head != nil && !l.skipped {
		l.skipped = true
		return false, nil
	}
	l.skipped = false
	polled, err := l.backend.Poll(l.polled[:0])
	if l.busy = err == syscall.EAGAIN; l.busy {
		err = nil
	}
	for _, op := range polled {
		if l.over(op) {
			l.finish(op)
		}
		l.run(op.Desc, op.Kind.Dir())
	}
	clear(polled)
	l.polled = polled
	l.unyielded += len(polled)
	l.stats.Polls++
	idle = len(polled) == 0
	if len(l.deadlines) > 0 && l.expire() {
		idle = false
	}
	return idle, err
}

// park waits until there is something to do. The caller holds mu, which is released meanwhile.
func (l *loop) park() error {
	if l.incoming.Head != nil {
		return nil
	}
	l.subMu.Lock()
	if l.subs.Head != nil {
		l.subMu.Unlock()
		return nil
	}
	l.asleep = true
	l.subMu.Unlock()

	most := time.Duration(-1)
	if len(l.deadlines) > 0 {
		most = max(l.deadlines[0].Deadline-l.now(), 0)
	}
	if (len(l.starved) > 0 || l.busy) && (most < 0 || most > starvedRetry) {
		most = starvedRetry
	}
	l.stats.Parks++
	l.mu.Unlock()
	err := l.backend.Park(most)
	l.mu.Lock()

	l.subMu.Lock()
	l.asleep = false
	l.subMu.Unlock()
	l.unyielded = 0
	return err
}

// rouse ends a park: there may be something to return, or a cancellation to submit. The caller
// holds mu.
func (l *loop) rouse() {
	if l.shut {
		return
	}
	l.subMu.Lock()
	l.wake()
	l.subMu.Unlock()
}

// wake ends a park. The caller holds subMu and knows that the watcher is open: the backend could
// not be woken after Shut.
func (l *loop) wake() {
	if l.asleep {
		l.asleep = false
		l.backend.Wake()
	}
}

// yield lets other goroutines run, now and then. Parking does, but under load there is none.
func (l *loop) yield() {
	if l.unyielded < yieldCount {
		return
	}
	l.unyielded = 0
	if now := l.now(); now-l.yielded > yieldAfter {
		l.backend.Yield()
		l.yielded = l.now()
	}
}

func (l *loop) now() time.Duration { return time.Since(l.start) }

// collect returns the operations that have ended as results, and keeps them for reuse.
func (l *loop) collect() []OpResult {
	var spare proactor.Queue
	n := 0
	for op := l.ended.Pop(); op != nil; op = l.ended.Pop() {
		r := OpResult{Context: op.Tag, Conn: op.Conn, Buffer: op.Buf, IsSwapBuffer: op.Swap, Size: op.Size, Error: op.Err}
		if op.Kind == proactor.Send {
			r.Operation = OpWrite
		}
		l.results = append(l.results, r)
		if op.Desc != nil {
			atomic.AddInt32(&op.Desc.Queued, -1)
		}
		*op = proactor.Op{}
		spare.Push(op)
		n++
	}
	l.stats.Results += uint64(n)
	l.swapHeld = false
	l.subMu.Lock()
	if l.spares < maxFree {
		spare.Tail.Next = l.spare.Head // the hottest first
		if l.spare.Head == nil {
			l.spare.Tail = spare.Tail
		}
		l.spare.Head = spare.Head
		l.spares += n
	}
	l.subMu.Unlock()
	if l.drained != nil && l.pending == 0 && l.incoming.Head == nil {
		close(l.drained)
		l.drained = nil
	}
	return l.results
}
