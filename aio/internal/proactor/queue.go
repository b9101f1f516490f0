package proactor

// Queue is a FIFO of operations. Every method takes constant time. The zero value is empty.
//
// The first operation's prev is the last one, so that a queue is one pointer. An idle descriptor
// has two.
type Queue struct{ Head *Op }

// Push appends op, which is in no queue.
func (q *Queue) Push(op *Op) {
	op.Next, op.prev = nil, op
	q.Append(&Queue{Head: op})
}

// Append moves all of other to the end of q.
func (q *Queue) Append(other *Queue) {
	head := other.Head
	switch other.Head = nil; {
	case head == nil:
	case q.Head == nil:
		q.Head = head
	default:
		last := q.Head.prev
		last.Next, q.Head.prev, head.prev = head, head.prev, last
	}
}

// Pop removes and returns the first operation, or returns nil.
func (q *Queue) Pop() *Op {
	op := q.Head
	if op != nil {
		q.Remove(op)
	}
	return op
}

// Remove removes op, which is in q.
func (q *Queue) Remove(op *Op) {
	switch {
	case op.Next != nil:
		op.Next.prev = op.prev
	case q.Head != op:
		q.Head.prev = op.prev
	}
	if q.Head == op {
		q.Head = op.Next
	} else {
		op.prev.Next = op.Next
	}
	op.Next, op.prev = nil, nil
}
