package aio

import (
	"context"
	"runtime"

	"evenkeel.dev/internal/proactor"
)

// Stats counts what a Watcher did since it was made.
type Stats struct {
	Backend string // the one in use
	Conns   int    // delegated at the moment
	Pending int    // operations submitted and not yet over

	Operations, Results     uint64 // begun, and returned by WaitIO
	BytesRead, BytesWritten uint64
	Cancelled               uint64 // at their deadline, or by Shutdown
	SwapFull                uint64 // reads that found the swap buffer full
	Leaked                  uint64 // whose memory the kernel did not give back: see Close
	Polls, Parks            uint64 // how often the kernel was asked, and how often waited for
}

func (l *loop) readStats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Backend, s.Conns, s.Pending = l.backend.Name(), l.live, l.pending
	for op := l.incoming.Head; op != nil; op = op.Next {
		s.Pending++
	}
	l.subMu.Lock()
	defer l.subMu.Unlock()
	for op := l.subs.Head; op != nil; op = op.Next {
		s.Pending++
	}
	return s
}

func (l *loop) getGC() (found, closed uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gcFound, l.gcClosed
}

// close is Close.
func (l *loop) close() {
	if leaked := l.end(); leaked > 0 {
		l.options.Logger.Warn("aio: the kernel did not give memory back when the watcher was closed: it is never freed. Look for a thread that hangs in a system call (state D in ps -eLo pid,tid,stat,wchan,comm), or for what WaitIO said of a ring that failed",
			"operations", leaked)
	}
}

// end closes the watcher, if it is open, and returns how many operations were leaked.
func (l *loop) end() (leaked uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return 0
	}
	l.refuse()
	l.each(func(d *proactor.Desc) { l.release(d, proactor.Closed) })
	l.intake(-1) // finds its connections gone
	for _, op := range l.backend.Shut(nil) {
		if op.Leaked {
			leaked++
		}
		if l.over(op) {
			l.finish(op)
		}
		l.run(op.Desc, op.Kind.Dir())
	}
	l.shut = true
	l.swap = nil // collected connections that are still referenced keep the loop
	if l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
	l.stats.Leaked = leaked
	return leaked
}

// refuse ends submissions.
func (l *loop) refuse() {
	l.subMu.Lock()
	l.closed = true
	l.subMu.Unlock()
}

// each calls f for every delegated connection. The caller holds mu.
func (l *loop) each(f func(*proactor.Desc)) {
	l.subMu.Lock()
	all := make([]*proactor.Desc, 0, len(l.conns))
	for _, d := range l.conns {
		all = append(all, d)
	}
	l.subMu.Unlock()
	all = append(all, l.handles...)
	for _, d := range all {
		f(d)
	}
}

// shutdown is Shutdown.
func (l *loop) shutdown(ctx context.Context) error {
	l.mu.Lock()
	if l.shut || l.drained != nil {
		l.mu.Unlock()
		return ErrWatcherClosed
	}
	l.refuse()
	l.intake(-1)
	l.each(func(d *proactor.Desc) {
		for op := d.Queues[proactor.In].Head; op != nil; op = op.Next {
			op.Cause = proactor.Closed
		}
		if op := d.Queues[proactor.In].Head; op != nil {
			l.cancel(op, proactor.Closed)
		}
	})
	drained := make(chan struct{})
	if l.pending == 0 && l.ended.Head == nil {
		close(drained)
	} else {
		l.drained = drained
	}
	l.rouse()
	l.mu.Unlock()

	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.close()
	return err
}

// setAffinity is SetLoopAffinity.
func (l *loop) setAffinity(cpu int) error {
	l.subMu.Lock()
	closed := l.closed
	l.subMu.Unlock()
	if closed {
		return ErrWatcherClosed
	}
	if !mayRunOn(cpu) {
		return ErrCPUID
	}
	l.affinity.Store(int32(cpu) + 1)
	return nil
}

// bind binds the goroutine in WaitIO.
func (l *loop) bind() {
	cpu := int(l.affinity.Swap(0)) - 1
	if cpu < 0 {
		return
	}
	runtime.LockOSThread()
	if err := setAffinity(cpu); err != nil {
		l.options.Logger.Warn("aio: the thread of WaitIO could not be bound", "cpu", cpu, "error", err)
	}
}
