package aio

import "evenkeel.dev/aio/internal/proactor"

// maxIdleSpares is how many operations of silent connections are kept for those that wake up.
// Submissions get the rest.
const maxIdleSpares = 64

// untagged replaces a nil tag.
var untagged any = new(byte)

// sleep replaces op, if it is a read that waits for the first byte of a silent connection, by its
// tag. An operation is as large as the rest of an idle connection. Start has just returned false
// for op. The caller holds mu.
func (w *Watcher) sleep(op *proactor.Op) {
	d := op.Desc
	q := &d.Queues[proactor.In]
	if w.idle.sleeper == nil || op != q.Head || op.Next != nil || op.Deadline != 0 || !w.idle.sleeper.Sleeps(op) {
		return
	}
	q.Remove(op)
	if d.Dormant = op.Tag; op.Tag == nil {
		d.Dormant = untagged
	}
	*op = proactor.Op{}
	w.idle.spare.Push(op)
	if w.idle.spares++; w.idle.spares < maxIdleSpares {
		return
	}
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if w.subs.spares < maxFree {
		w.subs.spare.Append(&w.idle.spare)
		w.subs.spares += w.idle.spares
	}
	w.idle.spare, w.idle.spares = proactor.Queue{}, 0
}

// revive makes the dormant read of d an operation in flight again, if there is one. The caller
// holds mu.
func (w *Watcher) revive(d *proactor.Desc) {
	if d.Dormant == nil {
		return
	}
	op := w.idle.spare.Pop()
	if op != nil {
		w.idle.spares--
	} else {
		w.subs.mu.Lock()
		op = w.operation()
		w.subs.mu.Unlock()
	}
	*op = proactor.Op{Desc: d, Kind: proactor.Readable, Index: -1, InFlight: true}
	if d.Dormant != untagged {
		op.Tag = d.Dormant
	}
	d.Dormant = nil
	d.Queues[proactor.In].Push(op)
}
