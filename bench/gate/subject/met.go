package main

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

// met counts the requests that met a collection: that ran when it began, or came before it had
// ended. Its methods may be called from any goroutine.
type met struct {
	mu         sync.Mutex
	inFlight   int       // requests
	collecting bool      // the collector runs
	now        int       // requests that have met this collection
	told, left bool      // the peers are being told, and have confirmed it
	at         time.Time // of the announcement
	confirmed  time.Time
	away       away // of this collection
	total      sums
}

// sums are what /met tells.
type sums struct {
	Collections int `json:"collections"` // of the gate, that ended
	Met         int `json:"met"`         // of them, those that a request met
	Requests    int `json:"requests"`    // that met one

	Polls  int    `json:"polls"`            // of health
	Warned *int   `json:"warned,omitempty"` // announced collections before the first warning that requests keep coming
	Away   []away `json:"away"`             // of each announced collection, maxAway at most
}

// away are the requests of one collection.
type away struct {
	Announced int           `json:"announced"`   // that came after the announcement
	Drained   int           `json:"drained"`     // and those of them after the peers had confirmed it
	Last      time.Duration `json:"last_ns"`     // from the announcement to the last of them
	Draining  time.Duration `json:"draining_ns"` // from the peers' confirmation until the collection began
}

const maxAway = 10_000

// see is the gate's OnEvent.
func (m *met) see(e gcgate.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.State {
	case gcgate.StateAnnouncing:
		m.told, m.left, m.at, m.away = true, false, time.Now(), away{}
	case gcgate.StateDraining:
		m.left, m.confirmed = m.told, time.Now()
	case gcgate.StateCollecting:
		if m.left {
			m.away.Draining = time.Since(m.confirmed)
		}
		m.left = m.told
	default:
		if m.told && len(m.total.Away) < maxAway {
			m.total.Away = append(m.total.Away, m.away)
		}
		m.told, m.left = false, false
	}
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
	if n > 0 && m.told {
		m.away.Announced++
		m.away.Last = time.Since(m.at)
		if m.left {
			m.away.Drained++
		}
	}
}

// polled counts a poll.
func (m *met) polled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.Polls++
}

// warned is a log's handler that notes the first warning that requests keep coming.
type warned struct {
	slog.Handler
	met *met
}

// Handle implements [slog.Handler].
func (w warned) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "requests keep coming") {
		w.met.warn()
	}
	return w.Handler.Handle(ctx, r)
}

func (m *met) warn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total.Warned == nil {
		m.total.Warned = new(len(m.total.Away))
	}
}

func (m *met) sum() sums {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.total
	total.Away = slices.Clone(total.Away)
	return total
}
