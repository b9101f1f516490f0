package aio

import "evenkeel.dev/aio/internal/proactor"

// Budgets of one turn of WaitIO and their shares. Poll has its own.
const (
	// Submissions that are taken in, and of a connection before the next has its share.
	intakeTurn, intakeConn = 4096, 4

	// Transfers and bytes of a turn, of a direction of a connection before the next one's share,
	// and of one with a new operation. Each accept of a Listener is another connection.
	turnTransfers, turnBytes = 256, 1 << 20
	connTransfers, connBytes = 4, proactor.MaxTransfer
	freshTransfers           = 1
	acceptTransfers          = 64

	// Operations that are ended at their deadline.
	expireTurn = 256
)

type budget struct{ transfers, bytes int }

func (b *budget) spent() bool { return b.transfers <= 0 || b.bytes <= 0 }

// line is a FIFO of descriptors. Both ends take constant time.
type line struct {
	list []*proactor.Desc
	at   int // the first
}

func (l *line) len() int { return len(l.list) - l.at }

func (l *line) push(d *proactor.Desc) {
	if l.at > len(l.list)/2 && len(l.list) == cap(l.list) {
		n := copy(l.list, l.list[l.at:])
		clear(l.list[n:])
		l.list, l.at = l.list[:n], 0
	}
	l.list = append(l.list, d)
}

func (l *line) pop() *proactor.Desc {
	if l.len() == 0 {
		return nil
	}
	d := l.list[l.at]
	l.list[l.at] = nil
	if l.at++; l.at == len(l.list) {
		l.list, l.at = l.list[:0], 0
	}
	return d
}

// startable reports whether the first operation of a queue waits only for its turn.
func startable(d *proactor.Desc, dir proactor.Dir) bool {
	op := d.Queues[dir].Head
	return op != nil && !op.InFlight && (!d.Starved[dir] || d.Released != proactor.None || op.Cause != proactor.None)
}

func (w *Watcher) list(d *proactor.Desc, l *line) {
	if !d.Listed && (startable(d, proactor.In) || startable(d, proactor.Out)) {
		d.Listed = true
		l.push(d)
	}
}

func (w *Watcher) listed() int { return w.fair.fresh.len() + w.fair.again.len() }

// serve begins transfers until the budget is spent, and returns how many. New operations and
// connections with more to do get as many each, so neither waits for the whole line of the others.
func (w *Watcher) serve() (begun int) {
	left := budget{turnTransfers, turnBytes}
	for !left.spent() && w.listed() > 0 {
		before, fresh := left.transfers, w.fair.ahead <= 0
		if w.fair.fresh.len() == 0 || w.fair.again.len() == 0 {
			w.fair.ahead, fresh = 0, w.fair.fresh.len() > 0
		}
		from, transfers, sign := &w.fair.again, connTransfers, -1
		if fresh {
			from, transfers, sign = &w.fair.fresh, freshTransfers, 1
		}
		d := from.pop()
		d.Listed = false
		w.share(d, transfers, &left)
		w.fair.ahead += sign * (before - left.transfers)
	}
	return turnTransfers - left.transfers
}

func (w *Watcher) share(d *proactor.Desc, transfers int, left *budget) {
	if _, ok := d.Owner.(*Listener); ok {
		transfers = acceptTransfers
	}
	for dir := range d.Queues {
		b := budget{transfers, connBytes}
		w.run(d, proactor.Dir(dir), &b)
		left.transfers -= transfers - b.transfers
		left.bytes -= connBytes - b.bytes
	}
	w.list(d, &w.fair.again)
}

// retry begins transfers that lacked memory, before others take it. Those that lack it again are
// first in the next turn.
func (w *Watcher) retry() (begun int) {
	left := budget{turnTransfers / 2, turnBytes / 2}
	for n := w.memory.retried.len() + w.memory.starved.len(); n > 0 && !left.spent() && !w.swapFull(); n-- {
		d := w.memory.retried.pop()
		if d == nil {
			d = w.memory.starved.pop()
		}
		d.Starved = [2]bool{}
		w.share(d, connTransfers, &left)
	}
	return turnTransfers/2 - left.transfers
}
