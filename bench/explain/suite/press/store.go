//go:build linux

package main

import (
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// cache holds the articles that were read last.
type cache struct {
	mu    sync.Mutex
	order *list.List
	items map[int]*list.Element
}

type article struct {
	key  int
	text [8]uint64
}

func makeCache(n int) *cache {
	c := &cache{order: list.New(), items: map[int]*list.Element{}}
	for i := range n {
		c.items[i] = c.order.PushFront(&article{key: i})
	}
	return c
}

func newCache(*press) (http.Handler, error) {
	c := makeCache(200000)
	go start.Every(700*time.Millisecond, c.trim)
	return c, nil
}

func (c *cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, c.get(len(r.URL.Path)))
}

func (c *cache) get(key int) *article {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	c.order.MoveToFront(e)
	return e.Value.(*article)
}

// trim weighs all articles, and drops the lightest ones.
func (c *cache) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		a := e.Value.(*article)
		a.text[0] = fold(uint64(a.key), 200)
	}
}

// sessions are those of readers who are signed in.
type sessions struct {
	mu   sync.RWMutex
	of   map[int]string
	file string
	page []byte
}

func newSessions(p *press) (http.Handler, error) {
	s := &sessions{of: map[int]string{}, file: filepath.Join(p.Dir, "sessions"), page: make([]byte, 32<<20)}
	go start.Every(900*time.Millisecond, s.keep)
	return s, nil
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, s.find(len(r.URL.Path)))
}

func (s *sessions) find(id int) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[id]
}

// keep writes all sessions to a file.
func (s *sessions) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.Create(s.file)
	if err != nil {
		log.Print(err)
		return
	}
	_, err = f.Write(s.page)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		log.Print(err)
	}
}

// orders are the book shops'.
type orders struct {
	*press
	mu sync.RWMutex
	of map[int]int
}

func newOrders(p *press) (http.Handler, error) {
	o := &orders{press: p, of: map[int]int{}}
	go start.Every(10*time.Millisecond, o.receive)
	go start.Every(700*time.Millisecond, o.export)
	return o, nil
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, o.status(len(r.URL.Path)))
}

func (o *orders) status(id int) int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.of[id]
}

func (o *orders) receive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[len(o.of)%100]++
}

// export hands all orders to the printers.
func (o *orders) export() {
	o.mu.RLock()
	defer o.mu.RUnlock()
	b, err := json.Marshal(o.of)
	if err == nil {
		_, err = o.get(fmt.Sprintf("%s/archive/orders?sum=%d", o.Upstream, len(b)))
	}
	if err != nil {
		log.Print(err)
	}
}

// readers have a session and an article each.
type readers struct {
	sessions
	cache *cache
}

func newReaders(*press) (http.Handler, error) {
	r := &readers{cache: makeCache(1000)}
	r.of = map[int]string{}
	return r, nil
}

func (s *readers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := s.find(len(r.URL.Path))
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "text": s.cache.get(len(r.URL.Path)).text})
}

// pages are rendered from templates that the editors change.
type pages struct {
	*press
	current atomic.Pointer[template]
}

type template struct {
	once sync.Once
	text []byte
}

func newPages(p *press) (http.Handler, error) {
	s := &pages{press: p}
	s.turn()
	go start.Every(700*time.Millisecond, s.turn)
	return s, nil
}

func (s *pages) ServeHTTP(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.render()) }

func (s *pages) render() []byte {
	t := s.current.Load()
	t.once.Do(func() { s.load(t) })
	return t.text
}

// turn begins with the editors' newest template.
func (s *pages) turn() {
	t := &template{}
	s.current.Store(t)
	t.once.Do(func() { s.load(t) })
}

func (s *pages) load(t *template) {
	b, err := s.get(s.Upstream + "/archive/template")
	if err != nil {
		log.Print(err)
	}
	t.text = b
}

// tray has the paper that is printed on.
type tray struct {
	mu     sync.Mutex
	filled sync.Cond
	empty  bool
	sheets uint64
}

func newTray(*press) (http.Handler, error) {
	t := &tray{}
	t.filled.L = &t.mu
	go start.Every(700*time.Millisecond, t.refill)
	return t, nil
}

func (t *tray) ServeHTTP(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, t.take()) }

func (t *tray) take() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.empty {
		t.filled.Wait()
	}
	t.sheets--
	return t.sheets
}

// refill counts what paper there is.
func (t *tray) refill() {
	t.mu.Lock()
	t.empty = true
	t.mu.Unlock()
	sheets := fold(7, 50_000_000)
	t.mu.Lock()
	t.sheets, t.empty = sheets, false
	t.mu.Unlock()
	t.filled.Broadcast()
}

// issue is the one that can be read now.
type issue struct {
	sum   atomic.Uint64
	ready atomic.Pointer[sync.WaitGroup]
}

func newIssue(*press) (http.Handler, error) {
	s := &issue{}
	s.ready.Store(&sync.WaitGroup{})
	go start.Every(700*time.Millisecond, s.compose)
	return s, nil
}

func (s *issue) ServeHTTP(w http.ResponseWriter, _ *http.Request) { s.read(w) }

func (s *issue) read(w http.ResponseWriter) {
	s.ready.Load().Wait()
	fmt.Fprintln(w, "the news")
}

// compose has a new issue set.
func (s *issue) compose() {
	ready := &sync.WaitGroup{}
	ready.Add(1)
	s.ready.Store(ready)
	s.set(ready)
}

func (s *issue) set(ready *sync.WaitGroup) {
	s.sum.Store(fold(9, 50_000_000))
	ready.Done()
}
