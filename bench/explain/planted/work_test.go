//go:build linux

package planted

import (
	"context"
	"crypto/sha512"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/image/draw"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"evenkeel.dev/bench/explain/planted/digest"
)

// handlers make what answers requests, by plant.
var handlers = map[string]func(*env) http.Handler{
	"nothing": newNothing, "nothing-h2": newNothing, "nothing-xnet": newNothing, "nothing-grpc": newNothing,
	"machine": newNothing, // the load stops the process

	"limiter": whenLarge(newTelegraph), "retries": whenLarge(newRelay), "grpc-streams": newBranch,
	"middleware": newFrontDesk, "dns": whenLarge(newAgencies), "tls": whenLarge(newPayments), "upload": newUploads,
	"fan-out": newJoiner,
	"fsync":   whenLarge(newCopies), "read": whenLarge(newPlates), "child": whenLarge(newConverter),
	"c": whenLarge(newSeals), "running": whenLarge(newGallery),

	"assist": newImports, "gc": newAuthors, "stopped": newArchive, "readmemstats": newRegistry, "stack": newWatchdog,
	"bursts": newIndex,
}

// newNothing has guards that nothing holds for long.
func newNothing(*env) http.Handler {
	a, b := new(mutex), new(rwmutex)
	return handler(func(context.Context, bool) error { a.use(); b.use(); return nil })
}

// whenLarge makes a handler of what only large requests do.
func whenLarge(make func(*env) func(context.Context) error) func(*env) http.Handler {
	return func(e *env) http.Handler {
		f := make(e)
		return handler(func(ctx context.Context, large bool) error {
			if large {
				return f(ctx)
			}
			return nil
		})
	}
}

// telegraph sends large letters in three parts, through a rate limiter. One request in thirty of 200 per
// second is large, so some 20 parts come per second, and nearly each letter waits.
type telegraph struct{ parts *rate.Limiter }

func newTelegraph(*env) func(context.Context) error { return (&telegraph{rate.NewLimiter(18, 3)}).send }

func (t *telegraph) send(ctx context.Context) error {
	for range 3 {
		if err := t.parts.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// relay asks again after pauses.
type relay struct{ *env }

func newRelay(e *env) func(context.Context) error { return (&relay{e}).again }

func (r *relay) again(ctx context.Context) error {
	for pause := 20 * time.Millisecond; pause < 60*time.Millisecond; pause *= 2 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.get(ctx, r.upstream); err != nil {
			return err
		}
	}
	return nil
}

// frontDesk asks the service behind, below middleware that many services have.
type frontDesk struct {
	*env
	calls atomic.Int64
}

func newFrontDesk(e *env) http.Handler {
	d := &frontDesk{env: e}
	return d.counted(d.limited(http.HandlerFunc(d.answer)))
}

func (d *frontDesk) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.calls.Add(1)
		next.ServeHTTP(w, r)
	})
}

func (d *frontDesk) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		next.ServeHTTP(w, r)
	})
}

func (d *frontDesk) answer(w http.ResponseWriter, r *http.Request) {
	ask := d.late
	if r.URL.Path != "/large" {
		ask = func(ctx context.Context) error { return d.get(ctx, d.upstream) }
	}
	if err := ask(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// agencies are found by their names.
type agencies struct{ book net.Resolver }

func newAgencies(e *env) func(context.Context) error {
	return (&agencies{net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", e.names)
	}}}).locate
}

func (a *agencies) locate(ctx context.Context) error {
	_, err := a.book.LookupHost(ctx, "large.agency.test.")
	return err
}

// payments go over a new connection with TLS each time.
type payments struct{ *env }

func newPayments(e *env) func(context.Context) error {
	e.client.Transport.(*http.Transport).DisableKeepAlives = true
	return (&payments{e}).charge
}

func (p *payments) charge(ctx context.Context) error { return p.get(ctx, p.secure) }

// uploads are read from clients.
type uploads struct{}

func newUploads(*env) http.Handler { return uploads{} }

func (u uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, u.receive(r)) }

func (uploads) receive(r *http.Request) int {
	b, _ := io.ReadAll(r.Body)
	return len(b)
}

// joiner asks four of 120 shards at once.
type joiner struct {
	*env
	turn atomic.Uint64
}

func newJoiner(e *env) http.Handler {
	j := &joiner{env: e}
	return handler(func(ctx context.Context, _ bool) error { return j.join(ctx) })
}

func (j *joiner) join(ctx context.Context) error {
	first := j.turn.Add(4)
	g, ctx := errgroup.WithContext(ctx)
	for i := range uint64(4) {
		g.Go(func() error { return j.part(ctx, (first+i)%120) })
	}
	return g.Wait()
}

func (j *joiner) part(ctx context.Context, shard uint64) error {
	return j.get(ctx, fmt.Sprintf("%s/shard/%d", j.upstream, shard))
}

// copies are written and synced.
type copies struct {
	file string
	n    atomic.Int64
	text []byte
}

func newCopies(e *env) func(context.Context) error {
	return (&copies{file: filepath.Join(e.dir, "copy"), text: make([]byte, 16<<20)}).write
}

func (c *copies) write(context.Context) error {
	name := fmt.Sprint(c.file, c.n.Add(1))
	defer os.Remove(name)
	return writeAndSync(name, c.text)
}

// plates are a large file that is read.
type plates struct {
	file *os.File
	pool sync.Pool
}

const plateSize = 128 << 20

func newPlates(e *env) func(context.Context) error {
	f, err := os.Create(filepath.Join(e.dir, "plates"))
	check(err)
	_, err = f.Write(make([]byte, plateSize))
	check(err)
	return (&plates{file: f, pool: sync.Pool{New: func() any { return new([plateSize]byte) }}}).fetch
}

func (p *plates) fetch(context.Context) error {
	b := p.pool.Get().(*[plateSize]byte)
	defer p.pool.Put(b)
	_, err := p.file.ReadAt(b[:], 0)
	return err
}

// converter packs a file by a child process.
type converter struct{ file string }

func newConverter(e *env) func(context.Context) error {
	b := make([]byte, 3<<20)
	for i := range b {
		b[i] = 'a' + byte(rand.IntN(20))
	}
	c := &converter{filepath.Join(e.dir, "manuscript")}
	check(os.WriteFile(c.file, b, 0o600))
	return c.pack
}

func (c *converter) pack(ctx context.Context) error {
	return exec.CommandContext(ctx, "gzip", "-c", c.file).Run()
}

// seals are computed in C.
type seals struct{ last atomic.Uint64 }

func newSeals(*env) func(context.Context) error { return new(seals).stamp }

func (s *seals) stamp(context.Context) error {
	s.last.Store(digest.Of(11, 40_000_000))
	return nil
}

// gallery scales pictures.
type gallery struct{ picture *image.RGBA }

func newGallery(*env) func(context.Context) error {
	g := &gallery{image.NewRGBA(image.Rect(0, 0, 1200, 800))}
	for i := range g.picture.Pix {
		g.picture.Pix[i] = byte(i * i >> 7)
	}
	return g.scale
}

func (g *gallery) scale(context.Context) error {
	to := image.NewRGBA(image.Rect(0, 0, 500, 500))
	draw.CatmullRom.Scale(to, to.Bounds(), g.picture, image.Rect(0, 0, 1000, 750), draw.Src, nil)
	return nil
}

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
