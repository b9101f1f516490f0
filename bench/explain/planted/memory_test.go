//go:build linux

package planted

import (
	"context"
	"crypto/sha512"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// author is one of a long list.
type author struct {
	next, other *author
	_           [4]int
}

func listOf(n int) (first *author) {
	for range n {
		first = &author{next: first, other: first}
	}
	return first
}

// imports allocate many pointers, so that they have to mark.
type imports struct{ known, last *author }

func newImports(e *env) http.Handler {
	s := &imports{known: listOf(2_000_000)}
	if e.without {
		debug.SetGCPercent(-1)
	}
	return handler(func(_ context.Context, large bool) error {
		n := 10
		if large {
			n = 200_000
		}
		s.parse(n)
		return nil
	})
}

func (s *imports) parse(n int) {
	var last *author
	for range n {
		last = &author{next: last, other: s.known}
	}
	s.last = last
}

// authors are pages of pointers beside a large heap, on one processor.
type authors struct {
	known *author
	page  atomic.Pointer[[]*author] // the last one: a page that nobody keeps would be on a stack
}

func newAuthors(*env) http.Handler {
	s := &authors{known: listOf(1_500_000)}
	return handler(func(context.Context, bool) error { s.list(); return nil })
}

func (s *authors) list() {
	page := make([]*author, 8192)
	for i := range page {
		page[i] = s.known
	}
	s.page.Store(&page)
}

// archive has a seal computed, which cannot be preempted, while a collection wants to stop the
// world.
type archive struct {
	past []byte
	seal [sha512.Size]byte
}

func newArchive(e *env) http.Handler {
	debug.SetGCPercent(-1)
	a := &archive{past: make([]byte, 96<<20)}
	starts := make(chan bool)
	e.every(600*time.Millisecond, func() {
		starts <- true
		a.seal = sha512.Sum512(a.past)
	})
	go func() {
		for range starts {
			time.Sleep(5 * time.Millisecond)
			runtime.GC()
		}
	}()
	return handler(func(context.Context, bool) error { time.Sleep(3 * time.Millisecond); return nil })
}

// registry reads memory statistics, which stops the world, while a long copy cannot be preempted.
type registry struct {
	books, copied []byte
	heap          atomic.Uint64
}

func newRegistry(e *env) http.Handler {
	r := &registry{books: make([]byte, 400<<20), copied: make([]byte, 400<<20)}
	e.every(700*time.Millisecond, r.save)
	e.every(5*time.Millisecond, r.measure)
	return newNothing(e)
}

func (r *registry) save() { copy(r.copied, r.books) }

func (r *registry) measure() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.heap.Store(m.HeapAlloc)
}

// watchdog takes the stacks of 10,000 goroutines.
type watchdog struct {
	picture []byte
	bytes   atomic.Int64
}

func newWatchdog(e *env) http.Handler {
	w := &watchdog{picture: make([]byte, 16<<20)}
	for range 10_000 {
		go func() { <-make(chan bool) }()
	}
	e.every(700*time.Millisecond, w.look)
	return newNothing(e)
}

func (w *watchdog) look() { w.bytes.Store(int64(runtime.Stack(w.picture, true))) }

// index is computed by bursts of goroutines.
type index struct {
	*env
	words [12]uint64
}

func newIndex(e *env) http.Handler {
	x := &index{env: e}
	e.every(800*time.Millisecond, x.rebuild)
	return newNothing(e)
}

func (x *index) rebuild() {
	for i := range x.words {
		go x.chunk(i)
	}
}

func (x *index) chunk(i int) { x.words[i] = fold(uint64(i), int(15_000_000*x.strength)) }
