//go:build linux

package main

import (
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// author is one of a long list.
type author struct {
	next, other *author
	books       [4]int
}

func listOf(n int) (first *author) {
	for range n {
		first = &author{next: first, other: first}
	}
	return first
}

// imports are lists of authors from elsewhere.
type imports struct{ known *author }

func newImports(*press) (http.Handler, error) { return &imports{listOf(2_000_000)}, nil }

func (s *imports) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 10
	if r.PathValue("item") == "large" {
		n = 200_000
	}
	fmt.Fprintln(w, s.parse(n).books)
}

func (s *imports) parse(n int) (last *author) {
	for range n {
		last = &author{next: last, other: s.known}
	}
	return last
}

// registry has the house's figures, and a copy of its books.
type registry struct {
	books, copied []byte
	heap          atomic.Uint64
}

func newRegistry(*press) (http.Handler, error) {
	r := &registry{books: make([]byte, 400<<20), copied: make([]byte, 400<<20)}
	go start.Every(700*time.Millisecond, r.save)
	go start.Every(5*time.Millisecond, r.measure)
	return r, nil
}

func (r *registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, r.heap.Load()) }

func (r *registry) save() { copy(r.copied, r.books) }

func (r *registry) measure() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.heap.Store(m.HeapAlloc)
}

// index is where each word stands.
type index struct{ words [12]uint64 }

func newIndex(*press) (http.Handler, error) {
	x := &index{}
	go start.Every(800*time.Millisecond, x.rebuild)
	return x, nil
}

func (x *index) ServeHTTP(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "page 7") }

func (x *index) rebuild() {
	for i := range x.words {
		go x.chunk(i)
	}
}

func (x *index) chunk(i int) { x.words[i] = fold(uint64(i), 15_000_000) }

// authors are listed for whoever asks.
type authors struct {
	known *author
	page  atomic.Pointer[[]*author] // the last one: a page that nobody keeps would be on a stack
}

func newAuthors(*press) (http.Handler, error) { return &authors{known: listOf(1_500_000)}, nil }

func (s *authors) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	page := make([]*author, 8192)
	for i := range page {
		page[i] = s.known
	}
	s.page.Store(&page)
	fmt.Fprintln(w, len(page))
}
