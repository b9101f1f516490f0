//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// prices are asked of the service that sets them, twice a second.
type prices struct {
	*shop
	mu    sync.Mutex
	table []byte
}

func newPrices(s *shop) (http.Handler, error) {
	p := &prices{shop: s}
	go start.Every(500*time.Millisecond, p.reload)
	return p, nil
}

func (p *prices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s: %d\n", r.PathValue("item"), p.of(r.PathValue("item")))
}

func (p *prices) of(item string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(item) + len(p.table)
}

func (p *prices) reload() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if table, err := p.get("/archive/prices"); err == nil {
		p.table = table
	}
}

// stock says how much there is of an item, and puts its index in order now and then.
type stock struct {
	mu    sync.RWMutex
	index []uint64
}

func newStock(*shop) (http.Handler, error) {
	s := &stock{index: make([]uint64, 400_000)}
	go start.Every(500*time.Millisecond, s.rebuild)
	return s, nil
}

func (s *stock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, s.level(uint64(len(r.PathValue("item")))))
}

func (s *stock) level(item uint64) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, _ := slices.BinarySearch(s.index, item)
	return i
}

func (s *stock) rebuild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrange()
}

func (s *stock) arrange() {
	x := uint64(time.Now().UnixNano()) | 1
	for i := range s.index {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		s.index[i] = x
	}
	slices.Sort(s.index)
}

// ledger writes down what is sold. A file is closed when a new one begins.
type ledger struct {
	*shop
	mu    sync.Mutex
	file  *os.File
	pages []byte
	err   error
}

func newLedger(s *shop) (http.Handler, error) {
	f, err := os.Create(filepath.Join(s.Dir, "ledger"))
	l := &ledger{shop: s, file: f, pages: make([]byte, 24<<20)}
	go start.Every(600*time.Millisecond, l.turn)
	return l, err
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := l.note(r.PathValue("item")); err != nil {
		start.Fail(w, err)
	}
}

func (l *ledger) note(item string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	_, err := l.file.WriteString(item)
	return err
}

func (l *ledger) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, l.err = l.file.WriteAt(l.pages, 0); l.err == nil {
		l.err = l.file.Sync()
	}
}

// till takes money, unless it is being counted.
type till struct {
	*shop
	mu   sync.Mutex
	open *sync.Cond
	busy bool
	sum  int
}

func newTill(s *shop) (http.Handler, error) {
	t := &till{shop: s}
	t.open = sync.NewCond(&t.mu)
	go start.Every(500*time.Millisecond, t.count)
	return t, nil
}

func (t *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, t.take(len(r.PathValue("item"))))
}

func (t *till) take(money int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.busy {
		t.open.Wait()
	}
	t.sum += money
	return t.sum
}

func (t *till) count() {
	t.mu.Lock()
	t.busy = true
	t.mu.Unlock()
	_, _ = t.get("/archive/till")
	t.mu.Lock()
	t.busy = false
	t.mu.Unlock()
	t.open.Broadcast()
}
