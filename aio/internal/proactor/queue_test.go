package proactor

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// check holds a queue to a list of what it should have.
func check(t *testing.T, q *Queue, want []*Op) {
	t.Helper()
	var got []*Op
	for op := q.Head; op != nil; op = op.Next {
		got = append(got, op)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the queue has %d operations, want %d, or others", len(got), len(want))
	}
}

// TestQueue plays random calls beside a slice.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var queues [2]Queue
	var models [2][]*Op
	for range 5000 {
		i := rng.IntN(2)
		q, m := &queues[i], &models[i]
		switch rng.IntN(7) {
		case 0, 1, 2:
			op := new(Op)
			q.Push(op)
			*m = append(*m, op)
		case 3:
			op := q.Pop()
			if len(*m) == 0 {
				if op != nil {
					t.Fatal("an empty queue had an operation")
				}
				continue
			}
			if op != (*m)[0] || op.Next != nil {
				t.Fatal("Pop returned another than the first, or one that is still linked")
			}
			*m = (*m)[1:]
		case 4, 5:
			if len(*m) == 0 {
				continue
			}
			at := rng.IntN(len(*m))
			q.Remove((*m)[at])
			*m = slices.Delete(slices.Clone(*m), at, at+1)
		case 6:
			if rng.IntN(10) > 0 {
				continue
			}
			q.Append(&queues[1-i])
			*m = append(*m, models[1-i]...)
			models[1-i] = nil
		}
		check(t, &queues[0], models[0])
		check(t, &queues[1], models[1])
	}
}

// TestQueueRemoveFromTheEnd: removing takes the same time wherever an operation stands. A walk from the first one would
// be a hundred thousand million steps.
func TestQueueRemoveFromTheEnd(t *testing.T) {
	ops := make([]Op, 1<<19)
	var q Queue
	for i := range ops {
		q.Push(&ops[i])
	}
	for i := len(ops) - 1; i >= 0; i-- {
		q.Remove(&ops[i])
	}
	if q.Head != nil {
		t.Error("the queue is not empty")
	}
}

// BenchmarkQueueRemove removes operations of a long queue in random order.
func BenchmarkQueueRemove(b *testing.B) {
	ops := make([]Op, 1000)
	order := rand.New(rand.NewPCG(1, 10)).Perm(len(ops))
	for range b.N {
		var q Queue
		for i := range ops {
			q.Push(&ops[i])
		}
		for _, i := range order {
			q.Remove(&ops[i])
		}
	}
}
