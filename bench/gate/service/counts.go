//go:build linux

package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

// counts counts the requests that come although a collection was announced. Its methods may be
// called from any goroutine.
type counts struct {
	mu        sync.Mutex
	announced time.Time // zero: no collection is
	drained   bool      // the peers have confirmed it
	away      away      // of this collection
	total     totals
}

// totals are what /counts answers.
type totals struct {
	Polls int    // of health
	Away  []away // of each announced collection, mostAway at most
}

// away are the requests of one collection.
type away struct {
	Announced int           // that came after the announcement
	Drained   int           // of them, after the peers had confirmed it
	Last      time.Duration // from the announcement to the last of them
}

const mostAway = 10_000

// see is the gate's OnEvent.
func (c *counts) see(e gcgate.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.State {
	case gcgate.StateAnnouncing:
		c.announced, c.drained, c.away = time.Now(), false, away{}
	case gcgate.StateDraining, gcgate.StateCollecting:
		c.drained = true
	default:
		if !c.announced.IsZero() && len(c.total.Away) < mostAway {
			c.total.Away = append(c.total.Away, c.away)
		}
		c.announced = time.Time{}
	}
}

// around counts the requests of next.
func (c *counts) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.came()
		next.ServeHTTP(w, r)
	})
}

// came counts a request.
func (c *counts) came() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.announced.IsZero() {
		return
	}
	c.away.Announced++
	c.away.Last = time.Since(c.announced)
	if c.drained {
		c.away.Drained++
	}
}

// polled counts a poll.
func (c *counts) polled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total.Polls++
}

// ServeHTTP answers the counts.
func (c *counts) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(w).Encode(c.total) // the client went away
}
