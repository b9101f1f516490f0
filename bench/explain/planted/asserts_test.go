//go:build linux

package planted

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// assertsCase runs the assertion of the guide's test, that no lock is the first cause, on two
// services next to two busy loops. In one, work of 0.15 ms holds the lock now and then. In the
// other, a refresh holds it for 20 ms of work.
func assertsCase() harness.Case {
	holds := map[string]time.Duration{"held shortly": 150 * time.Microsecond, "held long": 20 * time.Millisecond}
	return harness.Case{
		Name: "explain/asserts", What: "a test's assertion that no lock is the first cause, with one and without",
		Ways: []string{"held shortly", "held long"}, Rounds: 60, Length: 2 * time.Second,
		Claims: []harness.Claim{
			{Way: "held shortly", Figure: "wrong", Total: true, Target: harness.AtMost(1)},
			{Way: "held long", Figure: "wrong", Total: true, Target: harness.AtMost(1)},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			end, err := machine.BusyLoops(ctx, harness.Unless(r, 2, 0))
			if err != nil {
				return err
			}
			defer end()
			v, err := assertedOn(ctx, r.Length, holds[r.Way])
			if err != nil {
				return noRequests(r, err)
			}
			named := v.Named && v.Causes[0].Cause == reqtrace.CauseLock
			r.Keep("said", v.Sentence)
			r.Set("wrong", number(named != (r.Way == "held long")))
			return nil
		},
	}
}

// adder is a service that adds under a lock.
type adder struct {
	mu sync.Mutex
	n  uint64
}

// work computes for about d. It counts steps, so it does the same work if the kernel takes the CPU.
func (a *adder) work(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 60 * int(d/(100*time.Nanosecond)) {
		a.n = (a.n ^ a.n>>29) * 0x9e3779b97f4a7c15
	}
}

func (a *adder) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.work(20 * time.Microsecond)
	_, _ = io.WriteString(w, "added")
}

// assertedOn traces the service under load. Another goroutine holds its lock for hold at a time, 4
// to 20% of the time.
func assertedOn(ctx context.Context, length, hold time.Duration) (*verdict.Verdict, error) {
	a := &adder{n: 7}
	srv := httptest.NewServer(a)
	defer srv.Close()
	return verdict.During(ctx, reqtrace.Options{}, func() {
		ctx, cancel := context.WithTimeout(ctx, length)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				a.work(hold)
				time.Sleep(max(5*hold, 5*time.Millisecond))
			}
		})
		interval := func() time.Duration { return time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond)) }
		for due := time.Now(); ctx.Err() == nil; due = due.Add(interval()) {
			time.Sleep(time.Until(due))
			all.Go(func() {
				if resp, err := srv.Client().Get(srv.URL); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
		all.Wait()
	})
}
