package aiosuite

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/leaks"
)

func stormThenClose(r *rig) { r.storm(func(w *aio.Watcher) { _ = w.Close() }) }

func stormThenShutdown(r *rig) {
	r.storm(func(w *aio.Watcher) {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		_ = w.Shutdown(ctx)
	})
}

// storm: several goroutines do everything at once, close to the limits, while peers connect. Then
// the Watcher ends. Every operation is returned once, and no descriptor stays open.
func (r *rig) storm(end func(*aio.Watcher)) {
	const conns, dials = 8, 30
	_ = r.w.Close()
	opened := leaks.Files()
	r.open(aio.Options{
		MaxQueued: 8, MaxQueuedBytes: 3000, MaxWatcherBytes: 9000, MaxConns: conns + 4,
		Logger: slog.New(slog.DiscardHandler),
	})
	r.rough = true
	w := r.w
	var all, busy sync.WaitGroup
	var listeners []*aio.Listener
	var start sync.WaitGroup // what is attached below finds room
	start.Add(1)
	for range 2 {
		l, dial := r.rawListener()
		listeners = append(listeners, l)
		busy.Go(func() {
			for range dials {
				if peer, err := dial(); err == nil {
					_ = peer.Close()
				}
				time.Sleep(soon / 100)
			}
		})
	}
	for id := range uint64(conns) {
		conn, peer := r.pair()
		all.Go(func() {
			_, _ = io.Copy(struct{ io.Writer }{peer}, peer) // not by splice(2), whose pipes the net package keeps
			_ = peer.Close()
		})
		busy.Go(func() {
			start.Wait()
			r.gust(conn, listeners, rand.New(rand.NewPCG(id, 8)))
		})
	}
	start.Done()
	all.Go(func() {
		busy.Wait()
		for _, l := range listeners {
			all.Go(func() { _ = l.Close() })
		}
		end(w)
	})
	for !r.over {
		results, err := r.wait()
		if r.over = err != nil; r.over && err != aio.ErrWatcherClosed {
			r.t.Error(err)
		}
		for _, res := range results {
			if res.Conn != nil && (res.Op == aio.OpAccept || res.Op == aio.OpDial) {
				_, _ = r.submit(ticket{op: aio.OpClose, conn: res.Conn})
			}
		}
	}
	all.Wait()
	if left := opened(); left != "" {
		r.t.Error("files left open:", left)
	}
}

// gust does random things to conn and to the listeners.
func (r *rig) gust(conn *aio.Conn, listeners []*aio.Listener, rng *rand.Rand) {
	var ks []*ticket
	for range 80 {
		by, l := time.Time{}, listeners[rng.IntN(len(listeners))]
		if rng.IntN(2) == 0 {
			by = time.Now().Add(upTo(rng, soon))
		}
		k := ticket{conn: conn, deadline: by}
		switch rng.IntN(16) {
		case 0, 1:
			k.buf, k.full = make([]byte, 1+rng.IntN(500)), rng.IntN(2) == 0
		case 2, 3: // a read into the swap buffer
		case 4, 5:
			k.op, k.buf = aio.OpWrite, make([]byte, 1+rng.IntN(2000))
		case 6:
			k.op, k.buf = aio.OpWrite, make([]byte, 1+rng.IntN(2000))
			k.vec = cut(k.buf, 1, 300)
		case 7:
			k = ticket{op: aio.OpPost}
		case 8, 9:
			k = ticket{op: aio.OpAccept, listener: l, deadline: by}
		case 10:
			k = ticket{op: aio.OpDial, to: l.Addr(), deadline: by}
		case 11, 12:
			if len(ks) > 0 {
				r.cancelled(ks[rng.IntN(len(ks))])
			}
			continue
		case 13:
			if len(ks) > 0 {
				r.moved(ks[rng.IntN(len(ks))], by)
			}
			continue
		case 14:
			time.Sleep(upTo(rng, soon/10))
			continue
		default:
			if rng.IntN(10) == 0 {
				_ = conn.Close()
				continue
			}
			k.op = aio.OpCloseWrite
			if rng.IntN(10) == 0 {
				k.op = aio.OpClose
			}
		}
		got, err := r.submit(k)
		switch {
		case err != nil:
			r.t.Errorf("%v: %v", k.op, err)
		case k.conn != nil:
			ks = append(ks, got)
		}
	}
}

var seedFlag = flag.Uint64("seed", 0, "play the program of this `seed` only")

// TestSimulation plays random programs over the fake backend with random faults.
func TestSimulation(t *testing.T) {
	for seed := range seeds(t, *seedFlag, 100) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			o := Options{Seed: seed, Mode: Mode(rng.IntN(2)), Faults: faults(rng)}
			play(t, Fake(o), draw(rng, 1600))
		})
	}
}

// faults draws how often what goes wrong: of a quarter of the seeds nothing.
func faults(rng *rand.Rand) Faults {
	all := AllFaults(1)
	if rng.IntN(4) == 0 {
		return Faults{}
	}
	for _, chance := range []*float64{
		&all.ShortRead, &all.ShortWrite, &all.Again, &all.Spurious, &all.Delay, &all.Reorder, &all.NoBuffers,
		&all.NoDescriptors, &all.Cancelled, &all.LateCancel,
	} {
		*chance *= 1.6 * rng.Float64()
		if rng.IntN(3) == 0 {
			*chance = 0
		}
	}
	return all
}

// FuzzOperations plays a program that the fuzzer writes; its first two bytes are the fake's.
func FuzzOperations(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(draw(rand.New(rand.NewPCG(seed, 2)), 500))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		var o Options
		if len(program) > 1 {
			o.Mode = Mode(program[0] & 1)
			if o.Seed = uint64(program[1]); program[0]&2 != 0 {
				o.Faults = AllFaults(1)
			}
			program = program[2:]
		}
		play(t, Fake(o), program)
	})
}

// TestPrograms plays random programs over the backends of this system.
func TestPrograms(t *testing.T) {
	for seed := range seeds(t, *seedFlag, 30) {
		network := []string{"tcp", "unix"}[seed%2]
		for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
			t.Run(fmt.Sprintf("seed=%d/%v/%s", seed, b, network), func(t *testing.T) {
				play(t, Real(b, network), program(seed))
			})
		}
	}
}

// program draws a program.
func program(seed uint64) []byte {
	return draw(rand.New(rand.NewPCG(seed, 1)), 500)
}

// FuzzOperationsReal plays a program that the fuzzer writes, over the backends of this system, by TCP or by
// unix sockets. That of package aiosuite is the one that finds more: it has no kernel to wait for.
func FuzzOperationsReal(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(program(seed))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 300)] // for the kernel's sake
		network := []string{"tcp", "unix"}[len(program)%2]
		for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
			play(t, Real(b, network), program)
		}
	})
}
