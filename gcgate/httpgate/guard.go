package httpgate

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	guardTimeout = 30 * time.Second
	guardLooks   = 1000 // requests to search for a balancer's headers
)

// Guarded is a handler with a gate that [Guard] started. Any goroutine may call its methods.
type Guarded struct {
	next  http.Handler
	gate  *gcgate.Gate // nil: it could not start
	err   error
	log   *slog.Logger
	looks atomic.Int32 // requests left to search
}

// Guard starts a gate and returns next with its requests counted:
//
//	http.ListenAndServe(addr, httpgate.Guard(mux, gcgate.Options{}))
//
// Without options the gate spends memory on fewer collections ([gcgate.PolicyAuto]). If requests
// carry a balancer's headers, such as X-Forwarded-For, it warns once and says what to set.
//
// If the gate cannot start, the log says why at Error, [Guarded.Err] returns it, and requests are
// served without a gate. Put it outermost, as [Wrap].
func Guard(next http.Handler, o gcgate.Options) *Guarded {
	g := &Guarded{next: next, log: cmp.Or(o.Logger, slog.Default())}
	ctx, cancel := context.WithTimeout(context.Background(), guardTimeout)
	defer cancel()
	g.gate, g.err = gcgate.Start(ctx, o)
	if g.err != nil {
		g.log.Error("httpgate: no gate: serving without one, so requests overlap collections as before", "error", g.err)
		return g
	}
	g.next = Wrap(g.gate, next)
	if o.Policy != gcgate.PolicyShed && len(o.Signals) == 0 {
		g.looks.Store(guardLooks)
	}
	return g
}

// ServeHTTP implements [http.Handler].
func (g *Guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.looks.Load() > 0 {
		g.look(r.Header)
	}
	g.next.ServeHTTP(w, r)
}

// Gate returns the gate, nil if it could not start. [Wrap], [Status] and contrib's metrics accept
// nil.
func (g *Guarded) Gate() *gcgate.Gate { return g.gate }

// Err returns why the gate could not start: an [*evenkeel.OptionError], [gcgate.ErrRunning], or
// nil.
func (g *Guarded) Err() error { return g.err }

// Stop stops the gate as [gcgate.Gate.Stop] does. Requests are served on.
func (g *Guarded) Stop(ctx context.Context) error {
	if g.gate == nil {
		return nil
	}
	return g.gate.Stop(ctx)
}

// look warns once of a balancer without a signal.
func (g *Guarded) look(h http.Header) {
	by, fix := balancer(h)
	switch {
	case by == "":
		g.looks.Add(-1)
	case g.looks.Swap(0) > 0:
		g.log.Warn("httpgate: requests come through a balancer that has no signal, so they overlap collections", "seen",
			by,
			"fix", "with other replicas behind it, set gcgate.Options.Turns and "+fix)
	}
}

func balancer(h http.Header) (header, fix string) {
	for name := range h {
		if strings.HasPrefix(name, "X-Envoy-") {
			return name, "Signals: health.Handler, with a check each 10ms " +
				"and common_lb_config.update_merge_window 0s in Envoy's cluster"
		}
	}
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "Via", "X-Real-Ip"} {
		if len(h[name]) > 0 {
			return name, "Signals: haproxy.RuntimeAPI for HAProxy, health.Handler for what polls; " +
				"or PolicyShed where it tries another replica after a 503 (nginx: proxy_next_upstream http_503)"
		}
	}
	return "", ""
}
