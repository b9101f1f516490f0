package recorder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
)

// What experiments found, for the simulated services.
const (
	trueSecond   = 2500 * time.Microsecond // of tracing
	trueRequest  = 4800 * time.Nanosecond
	trueEvent    = 170 * time.Nanosecond // of a loop; the model multiplies it to get a service's
	trueAnalysis = 52.                   // ns per byte
)

// happened is a slow request.
type happened struct {
	start, end time.Time
	cause      reqtrace.Cause
	class      string
	number     uint64
}

// world is a service with planted causes. Its flight recorder holds what the runtime's would hold.
type world struct {
	*fake
	rate float64 // requests per second
	slow []happened
}

// analyze finds the slow requests of which the flight recorder has all events.
func (w *world) find(_ context.Context, j history.Trace) (*history.Explained, time.Duration, error) {
	w.mu.Lock()
	now := time.Now()
	kept := min(time.Since(w.since), w.window+time.Second/2,
		time.Duration(float64(w.room)/(w.rate*requestBytes)*float64(time.Second)))
	e := &history.Explained{}
	for i := len(w.slow) - 1; i >= 0; i-- {
		s := &w.slow[i]
		if s.end.Before(now.Add(-kept)) {
			break
		}
		m := history.Mark("", s.number)
		e.Slow = append(e.Slow, history.Request{
			ID: fmt.Sprint(s.number), Mark: m, Start: s.start, Duration: s.end.Sub(s.start),
			Cut: s.start.Before(now.Add(-kept)),
			Key: history.Key{Cause: s.cause, Class: s.class}, Lost: time.Millisecond,
		})
	}
	w.mu.Unlock()
	took := time.Duration(trueAnalysis * w.rate * requestBytes * kept.Seconds())
	w.analyses.Add(int64(took))
	time.Sleep((1 + restFor) * took)
	return e, took, nil
}

// TestTargets tests that within ten minutes the recorder explains a fifth of the slow requests of
// each planted cause. The shares of causes with a tenth or more of them are within 10 points of the
// truth. The recorder takes no more than its budget.
func TestTargets(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	for _, c := range []struct{ busy, rate float64 }{
		{.05, 40}, {.07, 40}, {.07, 60}, {.1, 100}, {.1, 300}, {.2, 300}, {.2, 600}, {.3, 1000}, {.5, 1000}, {.5, 2000},
	} {
		t.Run(fmt.Sprintf("%v of a processor, %v a second", c.busy, c.rate), func(t *testing.T) {
			for seed := range uint64(3) {
				synctest.Test(t, func(t *testing.T) { tenMinutes(t, c.busy, c.rate, seed) })
			}
		})
	}
}

func tenMinutes(t *testing.T, busy, rate float64, seed uint64) {
	lot := rand.New(rand.NewPCG(seed, uint64(rate)))
	w := &world{fake: newFake(), rate: rate}
	w.busy, w.event, w.tracing = busy, serviceCaches*trueEvent, trueSecond.Seconds()+trueRequest.Seconds()*rate
	w.perByte = func() int64 { return int64(time.Since(w.began).Seconds() * rate * requestBytes) }
	w.analysis = w.find
	r := begin(t, w.fake, Options{})
	each := func(per, chance float64, cause reqtrace.Cause, class string) {
		for n := per * chance; lot.Float64() < n; n-- {
			end := time.Now()
			took := 60*time.Millisecond + time.Duration(lot.ExpFloat64()*float64(40*time.Millisecond))
			r.over(context.Background(), end.Add(-took), "", class, false)
			w.mu.Lock()
			w.slow = append(w.slow, happened{end.Add(-took), end, cause, class, r.slow.Load()})
			w.mu.Unlock()
		}
	}
	const tick = 50 * time.Millisecond
	for i := range int(10 * time.Minute / tick) {
		per := rate * tick.Seconds()
		r.requests.Add(uint64(per))
		each(per, .004, reqtrace.CauseSleep, "GET /orders")
		each(per, .003, reqtrace.CauseNetwork, "GET /search")
		if i%(7*20) == 0 { // a convoy every seven seconds
			each(7*rate, .003, reqtrace.CauseLock, "GET /orders")
		}
		time.Sleep(tick)
	}
	cost := time.Duration(w.tracing*float64(w.recorded())) + time.Duration(w.analyses.Load())
	s := r.Stats()
	end(t, r)

	truth, of := map[reqtrace.Cause]float64{}, map[reqtrace.Cause]history.Summary{}
	for _, x := range w.slow {
		truth[x.cause]++
	}
	for _, x := range r.store.Snapshot().Summaries(time.Time{}) {
		of[x.Key.Cause] = x
	}
	allowed := max(.02*s.CPU.Seconds(), .005*s.Passed.Seconds())
	ended := float64(w.event)*rate*requestBytes/eventBytes*2 + 2*trueSecond.Seconds() // two ticks until it ends
	if cost.Seconds() > 1.02*allowed+ended/1e9 {
		t.Errorf("seed %d: it took %v of %.1f s", seed, cost, allowed)
	}
	for cause, n := range truth {
		x, share := of[cause], n/float64(len(w.slow))
		if float64(x.Requests) < .2*n {
			t.Errorf("seed %d: it explained %d of %.0f slow requests of %v", seed, x.Requests, n, cause)
		}
		if share >= .1 && math.Abs(x.Share-share) > .1 {
			t.Errorf("seed %d: the share of %v is %.0f%%, and it says %.0f%%", seed, cause, 100*share, 100*x.Share)
		}
	}
	t.Logf("seed %d: on for %.0f%%, %v of %.2f s; %v", seed, 100*s.Coverage(), cost.Round(time.Millisecond), allowed,
		coverage(r))
}
