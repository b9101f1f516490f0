package httpgate

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
)

// The gate looks for these by type.
var (
	_ gcgate.Signal    = (*InBand)(nil)
	_ gcgate.Attacher  = (*InBand)(nil)
	_ gcgate.Describer = (*InBand)(nil)
)

func newInBand(t *testing.T, quietFor time.Duration) (*InBand, *handler) {
	h := newHandler(t, gcgate.Options{}, func(http.ResponseWriter, *http.Request) {})
	b := withInBand(h)
	b.quietFor = quietFor
	return b, h
}

func TestInBandUnattached(t *testing.T) {
	var b InBand
	if b.Drain(t.Context(), time.Second) == nil || b.Ready(t.Context()) == nil {
		t.Error("no error without a gate")
	}
}

func TestInBandDrainWaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newInBand(t, 0)
		go func() {
			for range 20 { // the last at 80 ms
				serve(m, get())
				time.Sleep(4 * time.Millisecond)
			}
		}()
		begin := time.Now()
		if err := b.Drain(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d < 86*time.Millisecond || d > 100*time.Millisecond {
			t.Errorf("quiet after %v, want 10 ms after the last request at 76 ms", d)
		}
	})
}

func TestInBandDrainTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newInBand(t, 0)
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
					serve(m, get())
				}
			}
		}()
		defer close(stop)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := b.Drain(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if serve(m, get()).Header.Get(inband.HeaderDrain) == "" {
			t.Error("the announcement ended with the deadline")
		}
	})
}

func TestInBandReady(t *testing.T) {
	const patience = time.Second + returnPatience
	for _, tt := range []struct {
		name     string
		drained  func(m *handler)
		back     func(m *handler) // 50 ms after Ready began
		from, to time.Duration    // when Ready returns; to 0: at its deadline, of 200 ms
	}{
		{"no client heard", func(*handler) {}, func(*handler) {}, 0, time.Millisecond},
		{"a probe comes", ask, probe, 50 * time.Millisecond, 60 * time.Millisecond},
		{"a request comes", ask, ask, 50 * time.Millisecond, 60 * time.Millisecond},
		{"only a probe heard", probe, probe, 50 * time.Millisecond, 60 * time.Millisecond},
		{"no client comes", ask, func(*handler) {}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, m := newInBand(t, 0)
				probe(m) // of another absence
				if err := b.Drain(t.Context(), time.Second); err != nil {
					t.Fatal(err)
				}
				tt.drained(m)
				time.AfterFunc(50*time.Millisecond, func() { tt.back(m) })
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				begin := time.Now()
				err := b.Ready(ctx)
				d := time.Since(begin)
				if tt.to == 0 {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want the deadline", err)
					}
					if err := b.Ready(t.Context()); err != nil { // the gate asks again
						t.Error(err)
					}
					if d := time.Since(begin); d < patience-100*time.Millisecond || d > patience+100*time.Millisecond {
						t.Errorf("it gave up after %v, want about %v", d, patience)
					}
				} else if err != nil || d < tt.from || d > tt.to {
					t.Errorf("got %v after %v, want nil after %v to %v", err, d, tt.from, tt.to)
				}
				begin = time.Now()
				if err := b.Ready(t.Context()); err != nil || time.Since(begin) > 0 {
					t.Errorf("again: %v after %v", err, time.Since(begin))
				}
				synctest.Wait()
			})
		})
	}
}

// TestInBandForgets: a client that heard of one drain is not waited for after the next.
func TestInBandForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newInBand(t, 0)
		drain(t, b, time.Second)
		ask(m)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Ready(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want canceled", err)
		}
		drain(t, b, time.Second)
		begin := time.Now()
		if err := b.Ready(t.Context()); err != nil || time.Since(begin) > 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

func ask(m *handler)   { serve(m, get()) }
func probe(m *handler) { serve(m, get(inband.HeaderProbe, "1")) }
