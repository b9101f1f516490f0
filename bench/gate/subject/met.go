package main

import (
	"net/http"
	"sync"

	"evenkeel.dev/gcgate"
)

// met counts the requests that met a collection: that ran when it began, or came before it had
// ended. Its methods may be called from any goroutine.
type met struct {
	mu         sync.Mutex
	inFlight   int  // requests
	collecting bool // the collector runs
	now        int  // requests that have met this collection
	total      sums
}

// sums are what /met tells.
type sums struct {
	Collections int `json:"collections"` // of the gate, that ended
	Met         int `json:"met"`         // of them, those that a request met
	Requests    int `json:"requests"`    // that met one
}

// see is the gate's OnEvent.
func (m *met) see(e gcgate.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.State == gcgate.StateCollecting {
		m.collecting, m.now = true, m.inFlight
		return
	}
	if !m.collecting {
		return
	}
	m.collecting = false
	m.total.Collections++
	if m.now > 0 {
		m.total.Met++
		m.total.Requests += m.now
	}
}

// count counts the requests of next.
func (m *met) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.add(1)
		defer m.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (m *met) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight += n
	if n > 0 && m.collecting {
		m.now++
	}
}

func (m *met) sum() sums {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}
