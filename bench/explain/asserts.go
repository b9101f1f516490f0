//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// The guide shows a test that asserts that no lock is the first cause. This part runs that assert
// on two services, next to two busy loops. In one, work of 0.15 ms holds the lock now and then. In
// the other, a refresh holds it for 20 ms of work.
const (
	assertRounds = 60
	assertTrace  = 2 * time.Second
	shortHold    = 150 * time.Microsecond
	longHold     = 20 * time.Millisecond
)

// asserts counts how often the guide's assert holds for each.
func (d *driver) asserts(ctx context.Context) error {
	end, err := machine.BusyLoops(ctx, 2)
	if err != nil {
		return err
	}
	defer end()
	rounds := assertRounds
	if d.quick {
		rounds = 3
	}
	kept, caught := 0., 0.
	for range rounds {
		for _, hold := range []time.Duration{shortHold, longHold} {
			v, err := assertedOn(ctx, hold)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			named := v.Named && v.Causes[0].Cause == reqtrace.CauseLock
			switch {
			case hold == longHold && named:
				caught++
			case hold == shortHold && !named:
				kept++
			default:
				fmt.Fprintf(d.out, "%v: %s\n", hold, v)
			}
		}
	}
	d.set.AtLeast("the assert on no lock holds of a service without one", []float64{100 * kept / float64(rounds)}, 100*59./60, " %")
	d.set.AtLeast("it fails on the one with a lock", []float64{100 * caught / float64(rounds)}, 100*59./60, " %")
	return nil
}

// counter is a service that counts under a lock.
type counter struct {
	mu sync.Mutex
	n  uint64
}

// work computes for about d. It counts steps, so it does the same work if the kernel takes the CPU.
func (c *counter) work(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range 60 * int(d/(100*time.Nanosecond)) {
		c.n = (c.n ^ c.n>>29) * 0x9e3779b97f4a7c15
	}
}

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.work(20 * time.Microsecond)
	_, _ = io.WriteString(w, "counted")
}

// assertedOn traces the service under load. Another goroutine holds its lock for hold at a time, 4
// to 20% of the time.
func assertedOn(ctx context.Context, hold time.Duration) (*verdict.Verdict, error) {
	c := &counter{n: 7}
	srv := httptest.NewServer(c)
	defer srv.Close()
	return verdict.During(ctx, reqtrace.Options{}, func() {
		ctx, cancel := context.WithTimeout(ctx, assertTrace)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				c.work(hold)
				time.Sleep(max(5*hold, 5*time.Millisecond))
			}
		})
		for due := time.Now(); ctx.Err() == nil; due = due.Add(time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond))) {
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
