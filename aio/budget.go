package aio

import "evenkeel.dev/aio/internal/proactor"

// What one turn of WaitIO does is bounded, so that one busy connection delays the others by as much as
// its own share, and each turn comes to all parts: what was submitted, what can be transferred, what the
// kernel has to say, and what is late. doc.go has these for users; a backend's Poll has its own.
const (
	// intakeTurn is how many submissions are taken in, which moves them to the queues of their
	// connections and transfers nothing; intakeConn is after how many of one connection the next has its
	// share.
	intakeTurn, intakeConn = 4096, 4

	// turnTransfers and turnBytes are what is begun: transfers, and bytes that they move or may move;
	// what waited for memory may use up half of it. connTransfers and connBytes are after how much of one
	// direction of a connection the next one has its share, of what has come anew freshTransfers: so many
	// that come at once wait for one transfer of each. A transfer has [proactor.MaxTransfer] bytes at
	// the utmost. A Listener's share is acceptTransfers: each accept is the first of another connection.
	turnTransfers, turnBytes = 256, 1 << 20
	connTransfers, connBytes = 4, proactor.MaxTransfer
	freshTransfers           = 1
	acceptTransfers          = 64

	// expireTurn is how many operations are ended at their deadline.
	expireTurn = 256
)

// budget is how much may still be begun.
type budget struct{ transfers, bytes int }

func (b *budget) spent() bool { return b.transfers <= 0 || b.bytes <= 0 }

// line is descriptors that wait for their turn, the first come first. It takes constant time.
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

// pop removes the first and returns it, or nil.
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

// startable reports whether the first operation of a queue waits for nothing but its turn.
func startable(d *proactor.Desc, dir proactor.Dir) bool {
	op := d.Queues[dir].Head
	return op != nil && !op.InFlight && (!d.Starved[dir] || d.Gone != proactor.None || op.Cause != proactor.None)
}

// list has d wait in l for its turn, unless it waits already or has nothing to begin.
func (w *Watcher) list(d *proactor.Desc, l *line) {
	if !d.Listed && (startable(d, proactor.In) || startable(d, proactor.Out)) {
		d.Listed = true
		l.push(d)
	}
}

// listed returns how many descriptors wait for their turn.
func (w *Watcher) listed() int { return w.fair.fresh.len() + w.fair.again.len() }

// serve gives those that wait for it their turns, until the budget is spent. Those that have come anew
// and those that had a turn and have more to do begin as many transfers each: neither waits for the whole
// line of the others. It returns how many transfers were begun.
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

// share has d begin so many transfers of each direction, taken from left. With more to do it waits for its next turn.
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

// retry begins what there was no memory for, before others can take it. What there is none for again
// waits for the next turn, before those that follow, which wait when the swap buffer is full. It returns
// how many transfers were begun.
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
