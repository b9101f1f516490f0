package proactor

import (
	"bytes"
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

// FuzzVec sends buffers in parts, and holds what Next gives to the bytes that are left.
func FuzzVec(f *testing.F) {
	f.Add([]byte{3, 0, 5, 200, 1}, []byte{1, 2, 9, 255})
	f.Add([]byte{0, 255, 0, 3, 253, 255}, []byte{1})
	f.Add(bytes.Repeat([]byte{1}, 3000), []byte{200, 255, 255})
	f.Fuzz(func(t *testing.T, sizes, parts []byte) {
		var v Vec
		for range 2 { // again, in the same memory
			var bufs [][]byte
			var all []byte
			for i, n := range sizes {
				size := int(n)
				if n > 250 {
					size *= 300 // more than a transfer has
				}
				bufs = append(bufs, bytes.Repeat([]byte{byte(i)}, size))
				all = append(all, bufs[i]...)
			}
			if n := v.Set(bufs); n != len(all) {
				t.Fatalf("%d bytes, want %d", n, len(all))
			}
			clear(bufs) // the caller's slice is the caller's
			sent := 0
			for i := 0; sent < len(all); i++ {
				next, n := v.Next()
				got := bytes.Join(next, nil)
				if n != len(got) || n == 0 || len(next) > maxBuffers || n >= 2*MaxTransfer ||
					!bytes.HasPrefix(all[sent:], got) {
					t.Fatalf("after %d of %d bytes: %d in %d buffers, which says %d", sent, len(all), len(got),
						len(next), n)
				}
				if len(next) < maxBuffers && n < min(len(all)-sent, MaxTransfer) {
					t.Fatalf("after %d of %d bytes: %d in %d buffers, and more would do", sent, len(all), n, len(next))
				}
				part := n
				if i < len(parts) {
					part = min(int(parts[i]), n)
				}
				sent += part
				if over := v.Sent(sent); over != (sent == len(all)) {
					t.Fatalf("after %d of %d bytes it is over: %t", sent, len(all), over)
				}
			}
			v.Clear()
			if v.Tag != nil || len(v.all) > 0 || cap(v.all) > 0 && v.all[:1][0] != nil {
				t.Fatal("it holds what it was cleared of")
			}
		}
	})
}
