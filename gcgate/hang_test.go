package gcgate

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// TestStopOfOneThatHangsWhileAway: where OnEvent does not return, Stop ends the refusals and has
// the peers asked to put this process back, and what the control goroutine does later changes
// nothing of that.
func TestStopOfOneThatHangsWhileAway(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		at   State // in which OnEvent hangs
	}{
		{"shed", Options{Policy: PolicyShed}, StateDraining},
		{"shed, about to", Options{Policy: PolicyShed}, StateAnnouncing},
		{"drain", Options{Policy: PolicyDrain}, StateDraining},
		{"drain, about to", Options{Policy: PolicyDrain}, StateAnnouncing},
		{"shed and drain", Options{Policy: PolicyShed, Signals: []Signal{}}, StateCollecting},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, turns, wake := &fakeSignal{}, &fakeTurns{}, make(chan struct{})
				o := c.o
				o.Turns, o.HoldTurn = turns, time.Millisecond
				if o.Policy == PolicyDrain || o.Signals != nil {
					o.Signals = []Signal{s}
				}
				h := gcgatetest.NewHeap()
				r := &rig{heap: &countedHeap{Heap: h}}
				o.Logger, o.Collector = slog.New(slog.NewTextHandler(&r.logged, nil)), h
				o.OnEvent = func(e Event) {
					if e.State == c.at {
						<-wake
					}
				}
				var err error
				if r.Gate, err = Start(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				r.until(t, c.at)
				time.Sleep(time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Stop: %v, want its deadline", err)
				}
				readys, drains := 0, 0
				check := func(when string) {
					t.Helper()
					if r.Refusing() || r.Remaining() != 0 || s.isDrained() {
						t.Errorf("%s: refusing %v, out for %v, out to the peer: %v", when, r.Refusing(),
							r.Remaining(), s.isDrained())
					}
				}
				synctest.Wait()
				check("after Stop")
				s.set(func() { readys, drains = s.readys, s.drains })
				time.Sleep(time.Second)
				check("later")
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Stop again: %v, want its deadline", err)
				}
				close(wake)
				for range 5 {
					check("while it goes on")
					time.Sleep(time.Millisecond)
				}
				r.Stop()
				check("in the end")
				s.set(func() {
					if s.drains != drains || s.readys > readys+1 || c.at != StateAnnouncing && s.readys != readys {
						t.Errorf("after Stop the peer got %d drains and %d times ready more",
							s.drains-drains, s.readys-readys)
					}
				})
				if turns.holders() != 0 {
					t.Error("the turn is held")
				}
				time.Sleep(time.Second) // a collection that runs ends
			})
		})
	}
}
