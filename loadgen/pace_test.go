package loadgen

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSleepUntilIsNeverEarly(t *testing.T) {
	e := &engine{epoch: time.Now()}
	done := make(chan struct{})
	go func() { // its thread ends with it
		defer close(done)
		nap := newNap()
		for range 300 {
			until := e.now() + rand.Int64N(2e6) - 1e5
			if !e.sleepUntil(t.Context(), until, nap) {
				t.Error("no cancellation, and false")
			}
			if now := e.now(); now < until {
				t.Errorf("%d ns early", until-now)
			}
		}
	}()
	<-done
}

func TestSleepUntilCancelled(t *testing.T) {
	e := &engine{epoch: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	nap := func(ns int64) { time.Sleep(time.Duration(ns)) }
	if e.sleepUntil(ctx, int64(time.Hour), nap) || e.now() > int64(patience) {
		t.Errorf("slept %v", time.Duration(e.now()))
	}
	if e.sleepUntil(ctx, 0, nap) {
		t.Error("true after the end")
	}
}

// The times due do not drift from the rate, however long the run.
func TestDueDoesNotDrift(t *testing.T) {
	for _, rate := range []int64{1, 3, 7, 999, 48611, 999983} {
		interval := 1e9 / float64(rate)
		for _, second := range []int64{1, 59, 3600, 86400} {
			due := int64(float64(second*rate) * interval)
			if off := due - second*1e9; off < -1 || off > 1 {
				t.Errorf("rate %d: %d ns off after %d s", rate, off, second)
			}
		}
	}
}
