package aiosuite

import (
	"slices"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

const pollLimit = 64

func (b *Backend) Cancel(op *proactor.Op) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.flights, func(fl *flight) bool { return fl.op == op })
	if at < 0 {
		b.violation("Cancel of an operation that is not in flight")
		return false
	}
	fl := b.flights[at]
	if b.o.Mode == Readiness {
		b.flights = slices.Delete(b.flights, at, at+1)
		op.InFlight = false
		return true
	}
	if !fl.moved && (!fl.tried || b.dice.hit(b.o.Faults.LateCancel)) {
		b.move(fl)
	}
	if !fl.moved {
		fl.moved, fl.err = true, syscall.ECANCELED
	}
	fl.due = time.Now().Add(b.dice.delay(b.o.Faults.Delay))
	return false
}

func (b *Backend) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.violation("Poll after Close")
	}
	limit := pollLimit
	if b.dice.hit(b.o.Faults.Reorder) {
		b.dice.Shuffle(len(b.flights), func(i, j int) { b.flights[i], b.flights[j] = b.flights[j], b.flights[i] })
		limit = 1 + b.dice.IntN(pollLimit)
	}
	now := time.Now()
	kept := b.flights[:0]
	for _, fl := range b.flights {
		if limit > 0 || b.o.Mode == Completion { // readiness moves only what it returns
			b.advance(fl, now)
		}
		if !fl.moved || fl.due.After(now) || limit == 0 {
			kept = append(kept, fl)
			continue
		}
		limit--
		done = append(done, fl.land())
	}
	clear(b.flights[len(kept):])
	b.flights = kept
	return done, nil
}

func (b *Backend) Settle(done []*proactor.Op) []*proactor.Op {
	if b.o.Mode == Completion {
		done, _ = b.Poll(done)
	}
	return done
}

func (b *Backend) advance(fl *flight, now time.Time) {
	f := b.o.Faults
	switch {
	case fl.moved || fl.due.After(now):
		return
	case b.dice.hit(f.Again):
		fl.due = now.Add(b.dice.delay(1))
	case b.o.Mode == Readiness:
		b.move(fl)
	case b.dice.hit(f.Cancelled):
		fl.moved, fl.err = true, syscall.ECANCELED
	case b.move(fl):
		fl.due = now.Add(b.dice.delay(f.Delay))
	}
}

func (fl *flight) land() *proactor.Op {
	fl.op.Size += fl.n
	fl.op.Err = fl.err
	fl.op.InFlight = false
	return fl.op
}

func (b *Backend) look() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *Backend) Wake() { b.look() }

// next returns when an operation will advance by itself, or a negative time.
func (b *Backend) next() time.Duration {
	now := time.Now()
	wait := time.Duration(-1)
	for _, fl := range b.flights {
		can := proactor.CanRead
		if fl.op.Kind.Dir() == proactor.Out {
			can = proactor.CanWrite
		}
		if !fl.moved && fl.fd.ready()&can == 0 {
			continue
		}
		if left := max(fl.due.Sub(now), 0); wait < 0 || left < wait {
			wait = left
		}
	}
	return wait
}

func (b *Backend) Wait(timeout time.Duration) error {
	b.mu.Lock()
	if b.waiting {
		b.violation("two goroutines in Wait")
	}
	b.waiting = true
	wait := b.next()
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.waiting = false
		b.mu.Unlock()
	}()
	if timeout >= 0 && (wait < 0 || timeout < wait) {
		wait = timeout
	}
	if wait == 0 {
		return nil
	}
	var late <-chan time.Time
	if wait > 0 {
		late = time.After(wait)
	}
	select {
	case <-b.signal:
	case <-late:
	case <-b.down:
	}
	return nil
}

func (b *Backend) Close(done []*proactor.Op) []*proactor.Op {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.violation("Close twice")
		return done
	}
	b.closed = true
	for _, fl := range b.flights {
		if !fl.moved {
			b.violation("Close with an operation in flight that was not cancelled")
			fl.err = syscall.ECANCELED
		}
		done = append(done, fl.land())
	}
	b.flights = nil
	close(b.down)
	return done
}
