//go:build linux

package planted

import (
	"context"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
