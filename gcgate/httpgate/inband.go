package httpgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
	"evenkeel.dev/gcgate/internal/polled"
)

var (
	_ gcgate.Signal    = (*InBand)(nil)
	_ gcgate.Attacher  = (*InBand)(nil)
	_ gcgate.Describer = (*InBand)(nil)
)

// InBand is a [gcgate.Signal] to clients without a balancer. While this process is drained, each
// answer of a wrapped handler carries the header Gcgate-Drain with the milliseconds until it is
// back. A [client.Transport] then sends its requests elsewhere.
//
// Use one *InBand with one gate, in [gcgate.Options].Signals, where [Wrap] and [New] find it. Do
// not change the fields after [gcgate.Start].
type InBand struct {
	// Allow are the clients that get the header, in addition to those of this host's loopback, by
	// the connection's address. Default: none, which allows all.
	Allow []netip.Prefix

	quietFor  time.Duration               // tests set it; 0: inBandQuiet
	gate      atomic.Pointer[gcgate.Gate] // nil before Attach
	until     atomic.Int64                // when back, in ns of clock; 0: not announcing
	announced atomic.Bool                 // an answer of this drain carried the header
	seen      atomic.Bool                 // a probe has seen that this process is back

	mu      sync.Mutex // guards what follows: Drain and Ready against a wrong caller
	entered uint32     // requests when the announcement ended
	patient int64      // until when Ready waits to be seen, in ns of clock
}

const (
	inBandQuiet = 10 * time.Millisecond

	// returnPatience is how long past the announced time a client probes at the latest, and some.
	returnPatience = inband.MaxProbePause + 100*time.Millisecond
)

var firstMoment = time.Now()

// clock is nanoseconds since the program's start, never 0.
func clock() int64 { return int64(time.Since(firstMoment)) | 1 }

// Attach implements [gcgate.Attacher].
func (b *InBand) Attach(g *gcgate.Gate) { b.gate.Store(g) }

// Describe implements [gcgate.Describer]. A [client.Transport] uses drained targets if all are
// drained, so no turn is needed.
func (b *InBand) Describe() gcgate.Description { return gcgate.Description{SafeWithoutTurn: true} }

// String implements [gcgate.Signal].
func (b *InBand) String() string { return "in-band (" + inband.HeaderDrain + ")" }

// Drain announces the collection, and returns nil when no request has entered for 10 ms. At
// ctx's end it fails, and the announcement stays.
func (b *InBand) Drain(ctx context.Context, expected time.Duration) error {
	gate := b.gate.Load()
	if gate == nil {
		return errUnattached
	}
	b.mu.Lock()
	if b.until.Load() == 0 {
		b.announced.Store(false)
	}
	b.until.Store(clock() + max(int64(expected), 1))
	b.mu.Unlock()

	quietFor := cmp.Or(b.quietFor, inBandQuiet)
	_, first := gate.Requests()
	last, since := first, time.Now()
	tick := time.NewTicker(max(quietFor/5, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("httpgate: %s: requests keep coming, %d since the announcement: "+
				"their clients do not read the header, give them another signal: %w", b, last-first, ctx.Err())
		case <-tick.C:
		}
		if _, n := gate.Requests(); n != last {
			last, since = n, time.Now()
		} else if time.Since(since) >= quietFor {
			return nil
		}
	}
}

// Ready ends the announcement, and returns nil when a client has seen that, or after a bound. A
// probe was answered then, or a request entered.
func (b *InBand) Ready(ctx context.Context) error {
	gate := b.gate.Load()
	if gate == nil {
		return errUnattached
	}
	b.mu.Lock()
	if until := b.until.Load(); until != 0 {
		_, b.entered = gate.Requests()
		b.patient = max(until, clock()) + int64(returnPatience)
		b.seen.Store(false)
		b.until.Store(0)
	}
	entered, patient := b.entered, b.patient
	b.mu.Unlock()

	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		_, n := gate.Requests()
		if !b.announced.Load() || b.seen.Load() || n != entered || clock() > patient {
			b.announced.Store(false)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("httpgate: %s: no client has come back yet: %w", b, ctx.Err())
		case <-tick.C:
		}
	}
}

var errUnattached = errors.New("httpgate: InBand: no gate: name it in gcgate.Options.Signals")

// announce returns what the answer to a request from remoteAddr has to announce, 0 for nothing.
func (b *InBand) announce(remoteAddr string) time.Duration {
	d := b.remaining(remoteAddr)
	if d > 0 && !b.announced.Load() {
		b.announced.Store(true)
	}
	return d
}

// answer is announce for a probe. One that gets 0 has seen that this process is back.
func (b *InBand) answer(remoteAddr string) time.Duration {
	d := b.announce(remoteAddr)
	if d == 0 {
		b.seen.Store(true)
	}
	return d
}

func (b *InBand) remaining(remoteAddr string) time.Duration {
	until := b.until.Load()
	if until == 0 {
		return 0
	}
	if len(b.Allow) > 0 {
		if _, ok := polled.Allowed("tcp", remoteAddr, b.Allow); !ok {
			return 0
		}
	}
	return max(time.Duration(until-clock()), 1)
}
