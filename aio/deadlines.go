package aio

import "evenkeel.dev/internal/proactor"

// deadlines is a heap of operations, the earliest deadline first.
type deadlines []*proactor.Op

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, j int) bool { return h[i].Deadline < h[j].Deadline }

func (h deadlines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].Index, h[j].Index = int32(i), int32(j)
}

// Push implements heap.Interface.
func (h *deadlines) Push(x any) {
	op := x.(*proactor.Op)
	op.Index = int32(len(*h))
	*h = append(*h, op)
}

// Pop implements heap.Interface.
func (h *deadlines) Pop() any {
	last := len(*h) - 1
	op := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	op.Index = -1
	return op
}
