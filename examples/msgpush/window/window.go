// Package window is a workload for a collector: a large heap that lives, of which a little dies at
// each request.
package window

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Shapes are the ways to keep a message.
//
//   - flat: one slice of bytes. Marking is a look at each message.
//   - ptr: linked nodes of 64 bytes. Marking follows each pointer.
var Shapes = []string{"flat", "ptr"}

// Limits of a window.
const (
	MaxSize = 64 << 20 // bytes of a message
	MaxLive = 64 << 30 // bytes of all that live
)

// Window keeps the messages that were pushed last. Any goroutine may call its methods.
type Window struct {
	size, length int
	push         func(n int) (pushed uint64) // to the ring
}

// Check says what is wrong with a window that New is to make.
func Check(shape string, size, length int) error {
	switch {
	case !slices.Contains(Shapes, shape):
		return fmt.Errorf("shape %q: choose one of %s", shape, strings.Join(Shapes, ", "))
	case size < 1 || size > MaxSize:
		return fmt.Errorf("messages of %d bytes: choose 1 to %d", size, MaxSize)
	case length < 1 || length > MaxLive/size:
		return fmt.Errorf("%d messages of %d bytes: choose at least 1, and at most %d bytes in all", length, size,
			int64(MaxLive))
	}
	return nil
}

// New returns a window that is full. [Check] found its arguments right.
func New(shape string, size, length int) *Window {
	w := &Window{size: size, length: length}
	if shape == "ptr" {
		r := &ring[*node]{slots: make([]*node, length), message: func() *node { return chain(size) }}
		w.push = r.push
	} else {
		r := &ring[[]byte]{slots: make([][]byte, length), message: func() []byte { return flat(size) }}
		w.push = r.push
	}
	w.push(length)
	return w
}

// Push makes n messages and keeps them instead of the oldest. It returns how many were pushed so
// far, without those that filled the window.
func (w *Window) Push(n int) uint64 { return w.push(n) - uint64(w.length) }

// Live returns the bytes of all messages.
func (w *Window) Live() int64 { return int64(w.size) * int64(w.length) }

func flat(size int) []byte {
	m := make([]byte, size)
	m[0] = 1
	return m
}

const nodeBytes = 64

type node struct {
	next *node
	text [nodeBytes - 8]byte
}

func chain(size int) *node {
	var first *node
	for range (size + nodeBytes - 1) / nodeBytes {
		first = &node{next: first}
		first.text[0] = 1
	}
	return first
}

type ring[M any] struct {
	message func() M

	mu    sync.Mutex // guards all below
	slots []M
	next  uint64
}

func (r *ring[M]) push(n int) uint64 {
	var next uint64
	for range n {
		m := r.message()
		r.mu.Lock()
		r.slots[r.next%uint64(len(r.slots))] = m
		r.next++
		next = r.next
		r.mu.Unlock()
	}
	return next
}

// Handler answers each request by pushing a batch of n messages.
func (w *Window) Handler(n int) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, "%d\n", w.Push(n))
	})
}

type Stats struct {
	Gate    any `json:"gate,omitempty"` // gcgate.Stats
	Runtime struct {
		Collections uint32 `json:"collections"`
		HeapBytes   uint64 `json:"heap_bytes"` // objects, live and dead
	} `json:"runtime"`
}

// StatsHandler serves Stats.
func StatsHandler(gate func() any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		var s Stats
		s.Runtime.Collections, s.Runtime.HeapBytes = m.NumGC, m.HeapAlloc
		s.Gate = gate()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s)
	})
}

// Warm takes so many bytes from the system, touches them and lets them go, so that later
// allocations find pre-faulted memory. A piece is a span, so the runtime's records of spans are there
// too. It collects once.
func Warm(bytes int) {
	const piece, page = 8 << 10, 4 << 10
	kept := make([]*[piece]byte, bytes/piece)
	for i := range kept {
		kept[i] = new([piece]byte)
		for k := 0; k < piece; k += page {
			kept[i][k] = 1
		}
	}
	runtime.KeepAlive(kept)
	runtime.GC()
}
