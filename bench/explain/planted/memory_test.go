//go:build linux

package main

import (
	"context"
	"crypto/sha512"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/reqtrace/region"
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

// archive has a seal computed, which cannot be preempted, while a collection wants to stop the world.
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

// many is a program of many goroutines that serve a request now and then. Each takes a lock twice and
// has a worker do something. One of a hundred also sleeps. There are several locks, because with one a
// busy machine makes a convoy of thousands, and each trace is different.
type many struct {
	shards [64]shard
	jobs   chan chan int
}

type shard struct {
	mu   sync.Mutex
	seen int
}

func newMany(e *env) http.Handler {
	m := &many{jobs: make(chan chan int)}
	for i := range 16 {
		go m.work(&m.shards[i])
	}
	for i := range 10_000 {
		go m.serve(&m.shards[i%len(m.shards)], rand.New(rand.NewPCG(1, uint64(i))))
	}
	return newNothing(e)
}

func (m *many) serve(s *shard, r *rand.Rand) {
	for {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		m.handle(s, r.IntN(100) == 0)
	}
}

func (m *many) handle(s *shard, sleeps bool) {
	reg := region.Start(context.Background(), "")
	defer reg.End()
	s.count()
	result := make(chan int, 1)
	m.jobs <- result
	<-result
	if sleeps {
		time.Sleep(time.Millisecond)
	}
	s.count()
}

func (m *many) work(s *shard) {
	for result := range m.jobs {
		result <- s.count()
	}
}

func (s *shard) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	return s.seen
}
