package aio

import "evenkeel.dev/aio/internal/proactor"

// maxBeds is how many operations of connections that became silent are kept for those that are no
// longer, before submissions get them.
const maxBeds = 64

// untagged stands for the tag of a read that has none.
var untagged any = new(byte)

// doze has op, of which Start has just said false, be its tag alone, if it is a read that waits for
// the first byte of a silent connection: an operation is as large as the rest of such a connection.
// The caller holds mu.
func (w *Watcher) doze(op *proactor.Op) {
	d := op.Desc
	q := &d.Queues[proactor.In]
	if w.sleeper == nil || op != q.Head || op.Next != nil || op.Deadline != 0 || !w.sleeper.Sleeps(op) {
		return
	}
	q.Remove(op)
	if d.Dormant = op.Tag; op.Tag == nil {
		d.Dormant = untagged
	}
	*op = proactor.Op{}
	w.beds.Push(op)
	if w.empty++; w.empty < maxBeds {
		return
	}
	w.subMu.Lock()
	defer w.subMu.Unlock()
	if w.spares < maxFree {
		w.spare.Append(&w.beds)
		w.spares += w.empty
	}
	w.beds, w.empty = proactor.Queue{}, 0
}

// revive has the read of d that is dormant, if there is one, be an operation again, in flight as it
// was. The caller holds mu.
func (w *Watcher) revive(d *proactor.Desc) {
	if d.Dormant == nil {
		return
	}
	op := w.beds.Pop()
	if op != nil {
		w.empty--
	} else {
		w.subMu.Lock()
		op = w.operation()
		w.subMu.Unlock()
	}
	*op = proactor.Op{Desc: d, Kind: proactor.Readable, Index: -1, InFlight: true}
	if d.Dormant != untagged {
		op.Tag = d.Dormant
	}
	d.Dormant = nil
	d.Queues[proactor.In].Push(op)
}
