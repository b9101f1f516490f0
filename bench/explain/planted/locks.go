//go:build linux

package main

import (
	"container/list"
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// each makes a handler of what each request does.
func each(f func()) http.Handler {
	return handler(func(context.Context, bool) error { f(); return nil })
}

// prices are asked of the service behind, under a mutex.
type prices struct {
	*env
	mu sync.Mutex
}

func newPrices(e *env) http.Handler {
	p := &prices{env: e}
	e.every(500*time.Millisecond, p.reload)
	return each(p.of)
}

func (p *prices) of() {
	p.mu.Lock()
	defer p.mu.Unlock()
}

func (p *prices) reload() {
	p.mu.Lock()
	defer p.mu.Unlock()
	warn(p.late(context.Background()))
}

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

func newCache(e *env) http.Handler {
	c := makeCache(200_000)
	e.every(700*time.Millisecond, c.trim)
	return each(func() { c.get(7) })
}

func (c *cache) get(key int) *article {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	c.order.MoveToFront(e)
	return e.Value.(*article)
}

// trim weighs all articles.
func (c *cache) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		a := e.Value.(*article)
		a.text[0] = fold(uint64(a.key), 200)
	}
}

// sessions are written to a file under a write lock.
type sessions struct {
	mu   sync.RWMutex
	of   map[int]string
	file string
	page []byte
}

func newSessions(e *env) http.Handler {
	s := &sessions{file: filepath.Join(e.dir, "sessions"), page: make([]byte, 32<<20)}
	e.every(900*time.Millisecond, s.keep)
	return each(func() { s.find(7) })
}

func (s *sessions) find(id int) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[id]
}

func (s *sessions) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	warn(writeAndSync(s.file, s.page))
}

func writeAndSync(file string, text []byte) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// newReaders has nothing slow: a session and an article for each request.
func newReaders(*env) http.Handler {
	s, c := &sessions{of: map[int]string{}}, makeCache(1000)
	return each(func() { s.find(c.get(7).key) })
}

// orders are exported under a read lock, behind which a writer waits, and behind that all readers.
type orders struct {
	*env
	mu sync.RWMutex
	of map[int]int
}

func newOrders(e *env) http.Handler {
	o := &orders{env: e, of: map[int]int{}}
	e.every(10*time.Millisecond, o.receive)
	e.every(700*time.Millisecond, o.export)
	return each(func() { o.status(7) })
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

func (o *orders) export() {
	o.mu.RLock()
	defer o.mu.RUnlock()
	warn(o.late(context.Background()))
}

// pages are rendered from a template that is loaded once, and replaced now and then.
type pages struct {
	*env
	current atomic.Pointer[sync.Once]
}

func newPages(e *env) http.Handler {
	p := &pages{env: e}
	p.current.Store(new(sync.Once))
	e.every(700*time.Millisecond, p.turn)
	return each(p.render)
}

func (p *pages) render() { p.current.Load().Do(p.load) }

func (p *pages) turn() {
	once := new(sync.Once)
	p.current.Store(once)
	once.Do(p.load)
}

func (p *pages) load() { warn(p.late(context.Background())) }

// tray is refilled while requests wait for a condition.
type tray struct {
	mu     sync.Mutex
	filled sync.Cond
	empty  bool
	sheets uint64
}

func newTray(e *env) http.Handler {
	t := &tray{}
	t.filled.L = &t.mu
	e.every(700*time.Millisecond, t.refill)
	return each(t.take)
}

func (t *tray) take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.empty {
		t.filled.Wait()
	}
	t.sheets--
}

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

// issue is set anew by work that is no request's, for which requests wait with a WaitGroup.
type issue struct {
	sum   atomic.Uint64
	ready atomic.Pointer[sync.WaitGroup]
}

func newIssue(e *env) http.Handler {
	s := &issue{}
	s.ready.Store(&sync.WaitGroup{})
	e.every(700*time.Millisecond, s.compose)
	return each(s.read)
}

func (s *issue) read() { s.ready.Load().Wait() }

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

// register reads its names by singleflight.
type register struct {
	group singleflight.Group
	names atomic.Pointer[[]uint64]
}

func newRegister(e *env) http.Handler {
	r := &register{}
	r.renew()
	e.every(700*time.Millisecond, r.renew)
	return each(func() { r.find(7) })
}

func (r *register) find(i int) uint64 {
	names := r.names.Load()
	if names == nil {
		v, _, _ := r.group.Do("names", r.read)
		names = v.(*[]uint64)
	}
	return (*names)[i]
}

func (r *register) renew() {
	r.names.Store(nil)
	_, _, _ = r.group.Do("names", r.read)
}

func (r *register) read() (any, error) {
	names := make([]uint64, 1<<16)
	x := uint64(5)
	for i := range 50_000_000 {
		x = (x ^ x>>29) * 0x9e3779b97f4a7c15
		names[i%len(names)] = x
	}
	r.names.Store(&names)
	return &names, nil
}

// reviews are read by eight at once, or brought in (x/sync's semaphore).
type reviews struct {
	desks *semaphore.Weighted
	sum   uint64
}

func newReviews(e *env) http.Handler {
	v := &reviews{desks: semaphore.NewWeighted(8)}
	e.every(500*time.Millisecond, v.bring)
	return handler(func(ctx context.Context, _ bool) error { return v.read(ctx) })
}

func (v *reviews) read(ctx context.Context) error {
	if err := v.desks.Acquire(ctx, 1); err != nil {
		return err
	}
	v.desks.Release(1)
	return nil
}

func (v *reviews) bring() {
	warn(v.desks.Acquire(context.Background(), 8))
	defer v.desks.Release(8)
	v.sum = fold(v.sum, 50_000_000)
}

// scanner scans two at a time: a channel as a semaphore.
type scanner struct {
	slots  chan struct{}
	file   string
	sheets []byte
}

func newScanner(e *env) http.Handler {
	s := &scanner{slots: make(chan struct{}, 2), file: filepath.Join(e.dir, "scans"), sheets: make([]byte, 32<<20)}
	e.every(900*time.Millisecond, s.batch)
	return each(s.scan)
}

func (s *scanner) scan() {
	s.slots <- struct{}{}
	s.sheets[0]++
	<-s.slots
}

// batch scans all that is left, and keeps it.
func (s *scanner) batch() {
	for range cap(s.slots) {
		s.slots <- struct{}{}
	}
	warn(s.keep())
	for range cap(s.slots) {
		<-s.slots
	}
}

func (s *scanner) keep() error { return writeAndSync(s.file, s.sheets) }

// darkroom has a worker that gets a large job now and then.
type darkroom struct{ jobs chan *photo }

type photo struct {
	size int
	sum  uint64
	done chan struct{}
}

func newDarkroom(e *env) http.Handler {
	d := &darkroom{make(chan *photo)}
	go d.worker()
	e.every(700*time.Millisecond, func() { d.develop(50_000_000) })
	return each(func() { d.develop(1000) })
}

func (d *darkroom) develop(size int) uint64 {
	p := &photo{size: size, done: make(chan struct{})}
	d.jobs <- p
	<-p.done
	return p.sum
}

func (d *darkroom) worker() {
	for p := range d.jobs {
		p.expose()
		close(p.done)
	}
}

func (p *photo) expose() { p.sum = fold(3, p.size) }

// labels are printed by two printers, which are too few for a batch.
type labels struct {
	*env
	jobs chan chan bool
}

func newLabels(e *env) http.Handler {
	l := &labels{e, make(chan chan bool, 256)}
	for range 2 {
		go l.printer()
	}
	e.every(500*time.Millisecond, l.batch)
	return each(l.print)
}

func (l *labels) print() {
	done := make(chan bool, 1)
	l.jobs <- done
	<-done
}

func (l *labels) printer() {
	for done := range l.jobs {
		time.Sleep(l.stronger(time.Millisecond))
		done <- true
	}
}

func (l *labels) batch() {
	for range 100 {
		go l.print()
	}
}

// board belongs to one goroutine, which is asked, and which tidies up now and then.
type board struct {
	questions chan chan int
	notes     []uint64
}

func newBoard(e *env) http.Handler {
	b := &board{questions: make(chan chan int), notes: make([]uint64, 600_000)}
	tidy := make(chan bool)
	e.every(500*time.Millisecond, func() { tidy <- true })
	go b.own(tidy)
	return each(b.ask)
}

func (b *board) ask() {
	answer := make(chan int, 1)
	b.questions <- answer
	<-answer
}

func (b *board) own(tidy chan bool) {
	for {
		select {
		case answer := <-b.questions:
			answer <- len(b.notes)
		case <-tidy:
			b.arrange()
		}
	}
}

func (b *board) arrange() {
	x := uint64(time.Now().UnixNano()) | 1
	for i := range b.notes {
		x = fold(x, 1)
		b.notes[i] = x
	}
	slices.Sort(b.notes)
}

// branch asks the head office over gRPC, which takes four calls at a time.
type branch struct{ head *grpc.ClientConn }

func newBranch(e *env) http.Handler {
	conn, err := grpc.NewClient(e.office, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	b := &branch{conn}
	e.every(900*time.Millisecond, b.close)
	return handler(func(ctx context.Context, _ bool) error { return b.ask(ctx, "letter") })
}

func (b *branch) ask(ctx context.Context, what string) error {
	return b.head.Invoke(ctx, "/bench.Office/File", wrapperspb.String(what), new(wrapperspb.StringValue))
}

// close sends the day's books.
func (b *branch) close() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { warn(b.ask(context.Background(), "books")) })
	}
	all.Wait()
}
