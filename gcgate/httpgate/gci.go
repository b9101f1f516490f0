package httpgate

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"evenkeel.dev/gcgate/internal/inband"
	"evenkeel.dev/gcgate/internal/polled"
)

// gci serves the protocol of the Garbage Collector Control Interceptor
// (docs/reference/protocol.md). gci-proxy exits at any status but 200. Any goroutine may call its
// methods.
type gci struct {
	peers    []netip.Prefix
	heap     func() uint64
	collect  func(context.Context) error
	expected func() time.Duration

	// These keep peers from collecting all the time.
	mu      sync.Mutex
	running chan struct{} // closed at the collection's end; nil: none runs
	err     error
	next    time.Time
}

const (
	headerGCI = "Gci"

	// gciSpacing expected durations are between the starts of two forced collections.
	gciSpacing = 4

	gciMinSpacing = 100 * time.Millisecond

	gciTimeout = 120 * time.Second // as in gci-proxy
)

// serves reports whether r is of the protocol, from an allowed peer. If a proxy handed r on, the
// header may be its client's.
func (c *gci) serves(r *http.Request) bool {
	h := r.Header
	if len(h[headerGCI]) == 0 ||
		len(h["X-Forwarded-For"]) > 0 || len(h["Forwarded"]) > 0 || len(h["Via"]) > 0 {
		return false
	}
	return polled.Covered(r.RemoteAddr, c.peers)
}

// ServeHTTP answers "ch" with the heap's bytes, and "gen1", "gen2" and "gc" after a collection.
func (c *gci) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	switch values := r.Header[headerGCI]; {
	case len(values) != 1:
		http.Error(w, "gci: more than one value", http.StatusBadRequest)
	case values[0] == "ch":
		h.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strconv.FormatUint(c.heap(), 10))
	case values[0] == "gen1", values[0] == "gen2", values[0] == "gc":
		wait, err := c.force(r.Context())
		if err != nil {
			http.Error(w, "not collected: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		if wait > 0 {
			h.Set("Gcgate-Skipped", "1")
			h.Set("Retry-After", formatSeconds(wait))
		}
		h.Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
	default:
		http.Error(w, `gci: want "ch", "gen1", "gen2" or "gc"`, http.StatusBadRequest)
	}
}

// force collects, or joins another peer's collection. Too soon after the last it returns how long
// to wait.
func (c *gci) force(ctx context.Context) (wait time.Duration, err error) {
	c.mu.Lock()
	if running := c.running; running != nil {
		c.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return 0, c.err
	}
	now := time.Now()
	if wait = c.next.Sub(now); wait > 0 {
		c.mu.Unlock()
		return wait, nil
	}
	c.running = make(chan struct{})
	c.next = now.Add(max(gciSpacing*c.expected(), gciMinSpacing))
	c.mu.Unlock()

	// Others may wait for this collection when its client has left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gciTimeout)
	defer cancel()
	err = c.collect(ctx)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	close(c.running)
	c.running = nil
	return 0, err
}

// formatSeconds rounds up, to at least 1, for Retry-After.
func formatSeconds(d time.Duration) string {
	d = min(max(d, 1), inband.MaxDrain)
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
