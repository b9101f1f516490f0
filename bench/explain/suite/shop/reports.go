//go:build linux

package main

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// catalog is all that is sold, or one item of it.
type catalog struct{ items []item }

type item struct {
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  map[string]string `json:"tags"`
}

func newCatalog(*shop) (http.Handler, error) {
	c := &catalog{items: make([]item, 12_000)}
	for i := range c.items {
		c.items[i] = item{fmt.Sprint("item ", i), float64(i) / 7, map[string]string{"colour": "red", "size": "xl", "made": "here"}}
	}
	return c, nil
}

func (c *catalog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 1
	if r.PathValue("item") == "large" {
		n = len(c.items)
	}
	b, err := c.page(n)
	if err != nil {
		start.Fail(w, err)
		return
	}
	fmt.Fprintln(w, len(b))
}

func (c *catalog) page(n int) ([]byte, error) { return json.Marshal(c.items[:n]) }

// advice grows from what others bought.
type advice struct{ all, mine atomic.Pointer[branch] }

type branch struct {
	left, right *branch
	_           [4]uint64
}

func newAdvice(*shop) (http.Handler, error) {
	a := &advice{}
	a.all.Store(grow(20))
	runtime.GC()
	debug.SetGCPercent(10)
	return a, nil
}

func (a *advice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	depth := 4
	if r.PathValue("item") == "large" {
		depth = 16
	}
	a.learn(depth)
}

func (a *advice) learn(depth int) { a.mine.Store(grow(depth)) }

func grow(depth int) *branch {
	if depth == 0 {
		return nil
	}
	return &branch{left: grow(depth - 1), right: grow(depth - 1)}
}

// archive keeps the past, under a seal.
type archive struct {
	past []byte
	seal [sha512.Size]byte
}

func newArchive(*shop) (http.Handler, error) {
	debug.SetGCPercent(-1)
	a := &archive{past: make([]byte, 96<<20)}
	starts := make(chan bool)
	go start.Every(600*time.Millisecond, func() {
		starts <- true
		a.seal = sha512.Sum512(a.past)
	})
	go func() {
		for range starts {
			time.Sleep(5 * time.Millisecond)
			runtime.GC()
		}
	}()
	return a, nil
}

func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(3 * time.Millisecond)
	fmt.Fprintln(w, a.past[len(r.PathValue("item"))])
}

// search has an index of words.
type search struct{ words []string }

func newSearch(*shop) (http.Handler, error) {
	s := &search{words: strings.Fields(strings.Repeat("pear apple plum cherry fig ", 20_000))}
	go start.Every(600*time.Millisecond, func() {
		for range 8 {
			go s.score()
		}
	})
	return s, nil
}

func (s *search) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, s.find(r.PathValue("item")))
}

func (s *search) find(word string) bool { return slices.Contains(s.words[:200], word) }

func (s *search) score() int {
	best := 0
	for i := range 40 {
		n := 0
		for _, w := range s.words {
			n += int(w[i%len(w)%3]) ^ n>>3
		}
		best = max(best, n)
	}
	return best
}

// sessions live for a while.
type sessions struct {
	live [1 << 20]*session
	next int
}

type session struct {
	before *session
	data   [6]uint64
}

func newSessions(*shop) (http.Handler, error) {
	s := &sessions{}
	debug.SetGCPercent(15)
	go start.Every(10*time.Millisecond, s.renew)
	return s, nil
}

func (s *sessions) renew() {
	for range 12_000 {
		i := s.next % len(s.live)
		s.live[i] = &session{before: s.live[(i+len(s.live)-1)%len(s.live)]}
		s.next += 7919
	}
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var visits [64]*session
	for i := range visits {
		visits[i] = &session{data: [6]uint64{uint64(i)}}
	}
	fmt.Fprintln(w, len(visits), r.PathValue("item"))
}
