package httpgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
)

// InBand is a [gcgate.Signal] to clients without a balancer. While this process is drained, each
// answer carries the header Gcgate-Drain with the milliseconds until it is back. A
// [client.Transport] then sends its requests elsewhere.
//
// Use one *InBand with one gate, in [gcgate.Options].Signals, where [Wrap] and [New] find it.
type InBand struct {
	quietFor  time.Duration               // for tests; 0: inBandQuiet
	gate      atomic.Pointer[gcgate.Gate] // nil before Attach
	until     atomic.Int64                // in ns of clock; 0: not announcing
	announced atomic.Bool                 // in an answer of this drain
	seen      atomic.Bool                 // a probe has seen the end

	mu      sync.Mutex // guards what follows, and until
	entered uint32     // at the announcement's end
	patient int64      // until when Ready waits, in ns of clock
}

const (
	inBandQuiet = 10 * time.Millisecond

	// A client probes within MaxProbePause after the announced time.
	returnPatience = inband.MaxProbePause + 100*time.Millisecond
)

var firstMoment = time.Now()

// clock is nanoseconds since the program's start, never 0.
func clock() int64 { return int64(time.Since(firstMoment)) | 1 }

// Attach implements [gcgate.Attacher].
func (b *InBand) Attach(g *gcgate.Gate) { b.gate.Store(g) }

// Describe implements [gcgate.Describer]. A [client.Transport] uses drained targets if all are
// drained, so the signal is safe without turns.
func (b *InBand) Describe() gcgate.Description { return gcgate.Description{SafeWithoutTurn: true} }

// String implements [gcgate.Signal].
func (b *InBand) String() string { return "in-band (" + inband.HeaderDrain + ")" }

// Drain announces the collection, and returns nil when no request has entered for 10 ms. The
// announcement stays even if ctx ends.
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
	err := wait(ctx, max(quietFor/5, time.Millisecond), func() bool {
		if _, n := gate.Requests(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) >= quietFor
	})
	if err != nil {
		return fmt.Errorf("httpgate: %s: requests keep coming, %d since the announcement: "+
			"their clients do not read the header, give them another signal: %w", b, last-first, err)
	}
	return nil
}

func wait(ctx context.Context, every time.Duration, over func() bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !over() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Ready ends the announcement, and returns nil when a probe or a request has come since, or after a
// bound.
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

	err := wait(ctx, time.Millisecond, func() bool {
		_, n := gate.Requests()
		return !b.announced.Load() || b.seen.Load() || n != entered || clock() > patient
	})
	if err != nil {
		return fmt.Errorf("httpgate: %s: no client has come back yet: %w", b, err)
	}
	b.announced.Store(false)
	return nil
}

var errUnattached = errors.New("httpgate: InBand: no gate: name it in gcgate.Options.Signals")

func (b *InBand) announce() time.Duration {
	d := b.remaining()
	if d > 0 && !b.announced.Load() {
		b.announced.Store(true)
	}
	return d
}

// answer is announce for a probe, which sees the end.
func (b *InBand) answer() time.Duration {
	d := b.announce()
	if d == 0 {
		b.seen.Store(true)
	}
	return d
}

func (b *InBand) remaining() time.Duration {
	until := b.until.Load()
	if until == 0 {
		return 0
	}
	return max(time.Duration(until-clock()), 1)
}
