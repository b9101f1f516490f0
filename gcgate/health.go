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
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Health is a [Signal] and a [Checker] that answers HTTP health checks: it is the handler of
// the path that a balancer polls (HAProxy's "option httpchk", Envoy, and others). See
// deploy/haproxy/health.cfg.
//
// The peer must poll fast, every 10 ms: when its polls of late are so slow that it would not act
// on a drain within [Options.AnnounceTimeout], or when it has polled too few times to tell, the
// signal is silent, and the log names the interval. It is used again when the polls are fast.
//
// It answers GET and HEAD, with 200 "ready" or 503 "draining", to the addresses in Allow and
// 403 to others. Who asks is the connection's other end: headers such as X-Forwarded-For are
// not looked at.
//
// Mount it outside of [Gate.Middleware]: under [Shed] that would refuse the polls that end a
// drain, and elsewhere the polls would count as requests. Do not mount it where a peer forwards
// the requests of others to it.
//
// Drain returns when each address that polls regularly has polled once more than it takes to
// make it act, Fall times. Ready returns when each that was told to drain has this process back,
// which takes a proof, since Rise may not be what the balancer is set to, and two replicas that
// are out at once leave nobody to serve:
//
//   - HAProxy says so in its polls, with "http-check send-state" (X-Haproxy-Server-State). Then
//     Fall and Rise do not matter, in neither direction; or
//   - Rise answers, and after them more requests than can have come past the peer: at least
//     eight, and four times as often as while the peer had this process out, in the drains of
//     late. This holds for one address, with one poller, and not where two were told to drain:
//     nobody knows which of them sends; or
//   - Rise answers and 10 s, which the log tells once. The turn is held meanwhile. A balancer
//     that needs longer than that is lost sight of: let it tell, or set Rise.
//
// An address that was told to drain and has not polled for 30 s is gone.
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
	// "rise" in HAProxy. Default: 0, which is HAProxy's default, 3 and 2; with "fall 1 rise 1"
	// write 1 and 1: the drain then takes two polls, not four.
	Fall, Rise int

	// Pollers is how many poll from one address: HAProxy processes, times the backends with
	// this server. With more than one, who has polled again is an estimate: each is taken to
	// poll as often as the others. Default: 0, which is 1.
	Pollers int

	// Logger gets Debug for the first stranger. Default: nil, which is slog.Default().
	Logger *slog.Logger

	polls     polls
	strangers atomic.Uint64
	warned    sync.Once // that a peer was taken for back without a proof
}

const (
	defaultFall = 3
	defaultRise = 2

	headerServerState = "X-Haproxy-Server-State" // of "http-check send-state"
)

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
	draining := h.polls.begin(from, serverState(r), time.Now())
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
	return h.explain(h.polls.drain(ctx, h.demand(h.Fall, defaultFall)))
}

// Ready answers 200 from now on. See [Health] for when it returns.
func (h *Health) Ready(ctx context.Context) error {
	err := h.polls.ready(ctx, h.demand(h.Rise, defaultRise))
	if err == nil && h.polls.tookUnproven() {
		h.warned.Do(func() {
			signalLogger(h.Logger).Warn("gcgate: no proof that the balancer has this process back: too few requests come by it, as many come past it, or several balancers poll; it is taken to have it after a time, for which the turn is held, and this is said once: let HAProxy tell (http-check send-state), and set Health.Fall and Rise to the balancer's", "after", sightTimeout)
		})
	}
	return h.explain(err)
}

// Attach implements [Attacher]: the requests that come may prove that the peer has this process
// back.
func (h *Health) Attach(g *Gate) { h.polls.attach(g) }

// CanConfirm implements [Confirmer].
func (h *Health) CanConfirm(within time.Duration) error {
	return h.explain(h.polls.canConfirm(within, h.demand(h.Fall, defaultFall), time.Now()))
}

// demand is what each poller takes to act.
func (h *Health) demand(rounds, initial int) demand {
	if rounds <= 0 {
		rounds = initial
	}
	return demand{rounds: rounds, each: max(h.Pollers, 1), proof: true}
}

// serverState returns what HAProxy says of this server, as in "UP 2/3; name=be/a; node=lb1".
func serverState(r *http.Request) peerState {
	v := r.Header[headerServerState]
	if len(v) != 1 {
		return peerSilent
	}
	state, _, _ := strings.Cut(v[0], ";")
	word, _, _ := strings.Cut(state, " ")
	switch word {
	case "UP":
		return peerUp
	case "DOWN", "NOLB":
		return peerDown
	}
	return peerSilent
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
