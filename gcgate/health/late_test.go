package health

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// lateBalancer polls as fast as it takes, and acts on what it finds later than it says.
type lateBalancer struct {
	late time.Duration

	// gathers has it act at once if nothing has changed for as long, and else on all changes at its
	// end, as Envoy does for a second by default.
	gathers  bool
	rate     float64 // bytes a second that all requests allocate
	replicas []*lateReplica

	mu      sync.Mutex
	changed time.Time // who is in; guarded by mu
	next    int       // guarded by mu
}

type lateReplica struct {
	handler *Handler
	heap    *gcgatetest.Heap
	gate    *gcgate.Gate
	log     logBuffer
	said    bool // that it is ready, at the last poll; guarded by the balancer's mu
	in      bool // guarded by the balancer's mu
}

// poll asks a replica until ctx ends.
func (b *lateBalancer) poll(ctx context.Context, r *lateReplica) {
	ask := httptest.NewRequest("GET", "/health", nil)
	ask.RemoteAddr = "127.0.0.1:1"
	for sleep(ctx, 10*time.Millisecond) {
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, ask)
		b.found(r, w.Code == 200)
	}
}

// found takes in what a poll has found.
func (b *lateBalancer) found(r *lateReplica, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ready == r.said {
		return
	}
	r.said = ready
	if !b.gathers {
		time.AfterFunc(b.late, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			r.in = ready
			b.send()
		})
		return
	}
	time.AfterFunc(b.late-time.Since(b.changed), func() { // at once where that is over
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.replicas {
			r.in = r.said
		}
		b.changed = time.Now()
		b.send()
	})
}

// send has each heap grow by its share of the requests. mu is held.
func (b *lateBalancer) send() {
	n := 0
	for _, r := range b.replicas {
		if r.in {
			n++
		}
	}
	for _, r := range b.replicas {
		r.heap.Do(func() {
			if r.heap.Rate = 0; r.in || n == 0 {
				r.heap.Rate = b.rate / float64(max(n, 1))
			}
		})
	}
}

// request sends one to the next replica that is in; where none is, to any.
func (b *lateBalancer) request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.replicas {
		if b.next++; b.replicas[b.next%len(b.replicas)].in {
			break
		}
	}
	b.replicas[b.next%len(b.replicas)].gate.Enter().Exit()
}

// TestBalancerThatActsLate: behind a balancer that has a replica out a second after it says so, and
// back as late, next to no request overlaps a collection once the gates have seen that, although
// the heaps fill in seconds; behind one that gathers its changes for a second from the first
// collection on, as bench/gate has it.
func TestBalancerThatActsLate(t *testing.T) {
	length, least := 30*time.Second, uint64(5) // collections
	checking := testutil.Checking()
	if checking { // the race detector takes seconds for each
		length, least = 2*time.Minute, 10
	}
	for _, c := range []struct {
		name     string
		replicas int     // Options.Replicas
		rate     float64 // bytes a second
		gathers  bool
	}{
		{"known number", 2, 30 * mib, false},
		{"number not known", 0, 20 * mib, false},
		{"gathers", 2, 220 * mib, true},
	} {
		if c.replicas == 0 && !checking {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &lateBalancer{late: time.Second, gathers: c.gathers, rate: c.rate}
				turns := make(oneTurn, 1)
				for range 2 {
					r := &lateReplica{
						handler: &Handler{Fall: 1, Rise: 1},
						heap:    gcgatetest.NewHeap(), said: true, in: true,
					}
					r.heap.Rate = b.rate / 2
					if c.gathers {
						r.heap.Live, r.heap.Mark = 320*mib, 190*time.Millisecond
					}
					o := gcgate.Options{
						Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{r.handler},
						Turns: turns, Replicas: c.replicas,
					}
					r.gate = startGate(t, o, r.heap, &r.log)
					b.replicas = append(b.replicas, r)
				}
				ctx, cancel := context.WithCancel(t.Context())
				for _, r := range b.replicas {
					go b.poll(ctx, r)
				}
				go func() {
					for sleep(ctx, time.Millisecond) {
						b.request()
					}
				}()
				if !c.gathers {
					time.Sleep(30 * time.Second)
				}
				var before [2]gcgate.Stats
				for i, r := range b.replicas {
					before[i] = r.gate.Stats()
				}
				time.Sleep(length)
				for i, r := range b.replicas {
					was, now := before[i], r.gate.Stats()
					collections := now.Collections[gcgate.ReasonTrigger] - was.Collections[gcgate.ReasonTrigger]
					overlapped, entered := now.Overlapped-was.Overlapped, now.Entered-was.Entered
					t.Logf("%d collections, %d requests of %d overlapped one, %d drains had no effect at once, turns "+
						"held for %v at most, %d went without", collections, overlapped, entered,
						now.IgnoredDrains, now.Turn.Held.Max, now.WithoutTurn)
					if 1000*overlapped > entered || collections < least || now.Turn.Held.Max > 5*time.Second ||
						now.WithoutTurn > was.WithoutTurn || now.Escaped > 0 {
						t.Errorf("replica %d: %+v\n%s", i, now, r.log.String())
					}
					if !strings.Contains(r.log.String(), "update_merge_window") {
						t.Errorf("the log does not name the cause:\n%s", r.log.String())
					}
				}
				for _, r := range b.replicas {
					r.gate.Stop(context.Background())
				}
				cancel()
				time.Sleep(2 * time.Second) // what the fakes still do
			})
		})
	}
}
