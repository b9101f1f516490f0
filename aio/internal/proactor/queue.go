package proactor

// Queue is a FIFO of operations. The first one's prev is the last one, so that a queue is one
// pointer. An idle descriptor has two.
type Queue struct{ Head *Op }

// Push appends op, which is in no queue.
func (q *Queue) Push(op *Op) {
	op.Next, op.prev = nil, op
	q.Append(&Queue{Head: op})
}

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

func (q *Queue) Pop() *Op {
	op := q.Head
	if op != nil {
		q.Remove(op)
	}
	return op
}

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

// maxBuffers is IOV_MAX of Linux, macOS and the BSDs (sysconf(3)).
const maxBuffers = 1024

// Vec is the list of buffers of a Sendv, in the operation's Tag.
type Vec struct {
	Tag  any
	rest [][]byte // not sent yet
	all  [][]byte // kept for its memory
	sent int

	total int
}

// Set copies the slice of bufs without the empty ones, and returns the number of bytes.
func (v *Vec) Set(bufs [][]byte) (n int) {
	v.all = v.all[:0]
	for _, b := range bufs {
		n += len(b)
		for len(b) > 0 {
			part := min(len(b), MaxTransfer)
			v.all, b = append(v.all, b[:part]), b[part:]
		}
	}
	v.rest, v.sent, v.total = v.all, 0, n
	return n
}

// Next returns the buffers of one transfer and their bytes. The last may pass MaxTransfer, so that
// a header is sent with the beginning of its body.
func (v *Vec) Next() (bufs [][]byte, n int) {
	for i, b := range v.rest {
		if i == maxBuffers || n >= MaxTransfer {
			return v.rest[:i], n
		}
		n += len(b)
	}
	return v.rest, n
}

// Sent notes the bytes sent since Set, and reports whether these are all.
func (v *Vec) Sent(size int) (all bool) {
	n := size - v.sent
	v.sent = size
	for len(v.rest) > 0 && n >= len(v.rest[0]) {
		n -= len(v.rest[0])
		v.rest[0], v.rest = nil, v.rest[1:]
	}
	if len(v.rest) > 0 {
		v.rest[0] = v.rest[0][n:]
	}
	return len(v.rest) == 0
}

func (v *Vec) Clear() (room int) {
	clear(v.all)
	*v = Vec{all: v.all[:0]}
	return cap(v.all)
}
