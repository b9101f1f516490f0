//go:build linux

package planted

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// guard is what each request uses for next to no time, and what a refresh holds while it does some
// work.
type guard interface {
	use()
	refresh(work func())
}

// newGuards make guards, by name.
var newGuards = map[string]func() guard{
	"mutex":   func() guard { return new(mutex) },
	"rwmutex": func() guard { return new(rwmutex) },
	"reader":  func() guard { return new(reader) },
	"once": func() guard {
		o := new(once)
		o.now.Store(new(sync.Once))
		return o
	},
	"cond": func() guard {
		c := new(cond)
		c.filled.L = &c.mu
		return c
	},
	"waitgroup": func() guard {
		w := new(waitgroup)
		w.ready.Store(new(sync.WaitGroup))
		return w
	},
	"flight":    func() guard { return new(flight) },
	"semaphore": func() guard { return &weighted{semaphore.NewWeighted(8)} },
	"channel":   func() guard { return &slots{make(chan bool, 2)} },
	"worker": func() guard {
		w := &worker{make(chan *job)}
		go w.run()
		return w
	},
	"owner": func() guard {
		o := &owner{make(chan chan bool), make(chan func())}
		go o.run()
		return o
	},
}

// newGuarded makes a plant of a guard and of what its holder does, as in mutex-asks. It is nil if
// there is none.
func newGuarded(e *env, name string) http.Handler {
	name, does, _ := strings.Cut(name, "-")
	work := map[string]func(){"asks": e.asks, "computes": e.computes, "syncs": e.syncs, "sleeps": e.sleeps}[does]
	if newGuards[name] == nil || work == nil {
		return nil
	}
	if does == "syncs" {
		e.page = make([]byte, 32<<20)
	}
	g := newGuards[name]()
	e.every(700*time.Millisecond, func() { g.refresh(work) })
	return handler(func(context.Context, bool) error { g.use(); return nil })
}

func (e *env) asks() { warn(e.late(context.Background())) }

func (e *env) computes() { e.sum.Store(fold(7, int(40_000_000*e.strength))) }

func (e *env) syncs() { warn(writeAndSync(filepath.Join(e.dir, "kept"), e.page)) }

func (e *env) sleeps() { time.Sleep(e.stronger(60 * time.Millisecond)) }

func writeAndSync(file string, text []byte) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

type mutex struct{ mu sync.Mutex }

func (m *mutex) use() {
	m.mu.Lock()
	defer m.mu.Unlock()
}

func (m *mutex) refresh(work func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	work()
}

type rwmutex struct{ mu sync.RWMutex }

func (m *rwmutex) use() {
	m.mu.RLock()
	defer m.mu.RUnlock()
}

func (m *rwmutex) refresh(work func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	work()
}

// reader is refreshed under a read lock. A writer waits behind that, and all readers behind the
// writer.
type reader struct{ rwmutex }

func (r *reader) refresh(work func()) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	time.AfterFunc(5*time.Millisecond, r.write)
	work()
}

func (r *reader) write() {
	r.mu.Lock()
	defer r.mu.Unlock()
}

// once is loaded by the first that uses it after a refresh, which is mostly the refresh itself.
type once struct {
	now  atomic.Pointer[sync.Once]
	work atomic.Pointer[func()]
}

func (o *once) use() { o.now.Load().Do(o.load) }

func (o *once) refresh(work func()) {
	o.work.Store(&work)
	now := new(sync.Once)
	o.now.Store(now)
	now.Do(o.load)
}

func (o *once) load() {
	if work := o.work.Load(); work != nil {
		(*work)()
	}
}

type cond struct {
	mu     sync.Mutex
	filled sync.Cond
	empty  bool
}

func (c *cond) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.empty {
		c.filled.Wait()
	}
}

func (c *cond) refresh(work func()) {
	c.set(true)
	work()
	c.set(false)
	c.filled.Broadcast()
}

func (c *cond) set(empty bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.empty = empty
}

type waitgroup struct {
	ready atomic.Pointer[sync.WaitGroup]
}

func (w *waitgroup) use() { w.ready.Load().Wait() }

func (w *waitgroup) refresh(work func()) {
	ready := new(sync.WaitGroup)
	ready.Add(1)
	w.ready.Store(ready)
	work()
	ready.Done()
}

// flight has one of those that find it stale do the work, by singleflight.
type flight struct {
	group singleflight.Group
	stale atomic.Pointer[func()]
}

func (f *flight) use() {
	if f.stale.Load() != nil {
		_, _, _ = f.group.Do("", f.read)
	}
}

func (f *flight) refresh(work func()) {
	f.stale.Store(&work)
	_, _, _ = f.group.Do("", f.read)
}

func (f *flight) read() (any, error) {
	if work := f.stale.Load(); work != nil {
		(*work)()
	}
	f.stale.Store(nil)
	return nil, nil
}

// weighted is x/sync's semaphore.
type weighted struct{ desks *semaphore.Weighted }

func (w *weighted) use() {
	warn(w.desks.Acquire(context.Background(), 1))
	w.desks.Release(1)
}

func (w *weighted) refresh(work func()) {
	warn(w.desks.Acquire(context.Background(), 8))
	work()
	w.desks.Release(8)
}

// slots are a channel as a semaphore.
type slots struct{ free chan bool }

func (s *slots) use() {
	s.free <- true
	<-s.free
}

func (s *slots) refresh(work func()) {
	for range cap(s.free) {
		s.free <- true
	}
	work()
	for range cap(s.free) {
		<-s.free
	}
}

// worker is single, and gets a large job now and then.
type worker struct{ jobs chan *job }

type job struct {
	work func()
	done chan bool
}

func (w *worker) use() { w.refresh(func() {}) }

func (w *worker) refresh(work func()) {
	j := &job{work, make(chan bool)}
	w.jobs <- j
	<-j.done
}

func (w *worker) run() {
	for j := range w.jobs {
		j.work()
		close(j.done)
	}
}

// owner is a goroutine that answers questions, and tidies up now and then.
type owner struct {
	questions chan chan bool
	tidy      chan func()
}

func (o *owner) use() {
	answer := make(chan bool, 1)
	o.questions <- answer
	<-answer
}

func (o *owner) refresh(work func()) { o.tidy <- work }

func (o *owner) run() {
	for {
		select {
		case answer := <-o.questions:
			answer <- true
		case work := <-o.tidy:
			work()
		}
	}
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
