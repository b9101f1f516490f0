package gcgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// Health is a [Signal] and a [Checker] that answers HTTP health checks: it is the handler of
// the path that a balancer polls (HAProxy's "option httpchk", Envoy, and others). See
// deploy/haproxy/health.cfg. A peer must poll fast, every 10 ms, and act on one answer, or it
// learns of a collection when that is over.
//
// It answers GET and HEAD, with 200 "ready" or 503 "draining", to the addresses in Allow and
// 403 to others. Who asks is the connection's other end: headers such as X-Forwarded-For are
// not looked at.
//
// Mount it outside of [Gate.Middleware]: under [Shed] that would refuse the polls that end a
// drain. Do not mount it where a peer forwards the requests of others to it.
//
// Drain and Ready return when each address that polls regularly has polled once more than it
// takes to make it act. An address that polled once, or not for 3 s, is not waited for.
//
// The fields must not change once the signal is in use. Methods may be called from any
// goroutine.
//
// Source: HAProxy 2.6 configuration.txt, "option httpchk", and section 5.2, "check", "inter",
// "rise" and "fall".
type Health struct {
	// Allow are the addresses that may poll. Default: none but this machine's loopback.
	// A Unix socket's permissions say who may poll there.
	Allow []netip.Prefix

	// Fall and Rise are how many answers in a row it takes to make the peer act: "fall" and
	// "rise" in HAProxy, which are 3 and 2 there if not written. Default: 0, which is 1.
	Fall, Rise int

	// Pollers is how many poll from one address: HAProxy processes, times the backends with
	// this server. With more than one, who has polled again is an estimate: each is taken to
	// poll as often as the others. Default: 0, which is 1.
	Pollers int

	// Logger gets Debug for the first stranger. Default: nil, which is slog.Default().
	Logger *slog.Logger

	polls     polls
	strangers atomic.Uint64
}

// ServeHTTP answers a poll.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	network := "tcp"
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		network = a.Network()
	}
	from, ok := poller(network, r.RemoteAddr, h.Allow)
	if !ok {
		h.stranger(r.RemoteAddr)
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "forbidden\n")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		io.WriteString(w, "use GET or HEAD\n")
		return
	}
	draining := h.polls.begin(from, time.Now())
	status, text := http.StatusOK, "ready\n"
	if draining {
		status, text = http.StatusServiceUnavailable, "draining\n"
	}
	w.WriteHeader(status)
	if _, err := io.WriteString(w, text); err == nil {
		h.polls.told(from, draining)
	}
}

// Drain answers 503 from now on. See [Health] for when it returns.
func (h *Health) Drain(ctx context.Context, _ time.Duration) error {
	return h.explain(h.polls.announce(ctx, true, h.Fall, h.Pollers))
}

// Ready answers 200 from now on. See [Health] for when it returns.
func (h *Health) Ready(ctx context.Context) error {
	return h.explain(h.polls.announce(ctx, false, h.Rise, h.Pollers))
}

// Check waits until somebody has polled.
func (h *Health) Check(ctx context.Context) error { return h.explain(h.polls.heard(ctx)) }

// String returns "health check".
func (h *Health) String() string { return "health check" }

// Strangers returns how many polls got 403 because their address is not allowed.
func (h *Health) Strangers() uint64 { return h.strangers.Load() }

func (h *Health) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNobodyPolls) && h.strangers.Load() > 0:
		return fmt.Errorf("gcgate: health check: %w but strangers: add the balancer's address to Health.Allow", err)
	case errors.Is(err, errNobodyPolls):
		return fmt.Errorf("gcgate: health check: %w: in HAProxy add \"option httpchk GET PATH\" to the backend, with the path of this handler, and \"check inter 10ms fastinter 10ms downinter 10ms rise 1 fall 1\" to the server line", err)
	default:
		return fmt.Errorf("gcgate: health check: %w (inter, fastinter and downinter 10ms in HAProxy)", err)
	}
}

func (h *Health) stranger(from string) {
	if h.strangers.Add(1) == 1 {
		signalLogger(h.Logger).Debug("gcgate: a stranger polls the health check, and gets 403; later ones are not logged: add the address to Health.Allow if it is a balancer's", "from", from)
	}
}

func signalLogger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.Default()
	}
	return l
}
