package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/polled"
)

// Handler is a [gcgate.Signal] and the [http.Handler] of the path that a balancer polls
// (deploy/haproxy/health.cfg). It answers GET and HEAD with 200 "ready" or 503 "draining", and 403
// to addresses that are not in Allow.
//
// If the polls are too slow for [gcgate.Options].AnnounceTimeout, the signal is silent, and the log
// names the interval. Mount it outside of httpgate.Wrap, which would refuse or count the polls.
//
// Drain returns when each address that polls regularly has polled once more after Fall answers.
// Ready returns when each that was asked to drain has this process back:
//
//   - HAProxy says so in its polls, with "http-check send-state"; or
//   - after Rise answers at least eight requests come, four times as often as while the peer had this
//     process out. This needs a single address with one poller; or
//   - 10 s have passed after Rise answers, or after 30 without Rise. The log says so once.
//
// Do not change the fields once the signal is in use. Any goroutine may call its methods.
type Handler struct {
	// Allow are the addresses that may poll, and this machine's loopback. Default: none.
	Allow []netip.Prefix

	// Fall and Rise are how many answers in a row make the peer act: "fall" and "rise" in HAProxy.
	// Default: 0, which is 3 and 2, as in HAProxy.
	Fall, Rise int

	// Pollers is how many poll from one address: HAProxy processes, times the backends with this
	// server. Default: 0, which is 1.
	Pollers int

	// InAnswers says that the balancer, an Envoy, also sees Draining in the answers to requests by
	// httpgate.Options.EnvoyFail. It may poll slowly then. Default: false.
	InAnswers bool

	draining atomic.Bool
	peers    polled.Peers
	gate     atomic.Pointer[gcgate.Gate] // nil before Attach
	refused  atomic.Bool                 // a poll
	warned   sync.Once
}

const (
	defaultFall = 3
	defaultRise = 2

	headerServerState = "X-Haproxy-Server-State"
)

// ServeHTTP answers a poll.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	network := "tcp"
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		network = a.Network()
	}
	from, ok := polled.Allowed(network, r.RemoteAddr, h.Allow)
	if !ok {
		if !h.refused.Swap(true) {
			h.gate.Load().Logger().Debug("health: refused a poll; later ones are not logged", "from", r.RemoteAddr,
				"fix", "if that is a balancer, add its address to Handler.Allow")
		}
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	draining := h.peers.Begin(from, serverState(r))
	status, text := http.StatusOK, "ready\n"
	if draining {
		status, text = http.StatusServiceUnavailable, "draining\n"
	}
	w.WriteHeader(status)
	if _, err := io.WriteString(w, text); err == nil {
		h.peers.Answered(from, draining)
	}
}

// Drain answers 503 from now on. [Handler] says when it returns.
func (h *Handler) Drain(ctx context.Context, _ time.Duration) error {
	return h.with(h.Fall, defaultFall, func(d polled.Demand) error {
		h.draining.Store(true)
		return h.peers.Drain(ctx, d)
	})
}

// Draining reports whether polls are answered 503, for httpgate.Options.EnvoyFail.
func (h *Handler) Draining() bool { return h.draining.Load() }

// Ready answers 200 from now on. [Handler] says when it returns.
func (h *Handler) Ready(ctx context.Context) error {
	h.draining.Store(false)
	err := h.with(h.Rise, defaultRise, func(d polled.Demand) error { return h.peers.Ready(ctx, d) })
	if err == nil && h.peers.Unproven() {
		h.warned.Do(func() {
			h.gate.Load().Logger().Warn(
				"health: no proof that the balancer has this replica back, so each turn is held for longer",
				"at_least", polled.ProofTimeout,
				"likely", "too few requests come by the balancer, as many come past it, or several balancers poll",
				"fix", "set Handler.Fall and Rise to the balancer's; HAProxy can tell by itself "+
					"(http-check send-state)")
		})
	}
	return err
}

// Attach implements [gcgate.Attacher].
func (h *Handler) Attach(g *gcgate.Gate) {
	h.gate.Store(g)
	h.peers.Attach(g)
}

// CanConfirm implements [gcgate.Confirmer].
func (h *Handler) CanConfirm(within time.Duration) error {
	return h.with(h.Fall, defaultFall, func(d polled.Demand) error { return h.peers.CanConfirm(within, d) })
}

// WhyIgnored implements [gcgate.Explainer].
func (h *Handler) WhyIgnored() string {
	return "in Envoy common_lb_config.update_merge_window, which holds what checks find back for a second: " +
		"set it to 0s; " +
		"in HAProxy a cookie or a stick-table, by which requests stick to this server: leave it out"
}

// Check waits until an allowed address has polled.
func (h *Handler) Check(ctx context.Context) error {
	return h.with(0, 0, func(polled.Demand) error { return h.peers.Heard(ctx) })
}

// Validate implements [gcgate.Validator].
func (h *Handler) Validate() error {
	for _, f := range []struct {
		name  string
		value int
		zero  string
	}{{"Fall", h.Fall, "3"}, {"Rise", h.Rise, "2"}, {"Pollers", h.Pollers, "1"}} {
		if f.value < 0 {
			return evenkeel.NewOptionError("health.Handler", f.name, "%d is negative: write 1 or more, or 0 for %s",
				f.value, f.zero)
		}
	}
	return nil
}

func (h *Handler) with(answers, initial int, do func(polled.Demand) error) error {
	if err := h.Validate(); err != nil {
		return err
	}
	err := do(polled.Demand{
		Answers: cmp.Or(answers, initial), Assumed: answers == 0,
		Pollers: h.Pollers, InAnswers: h.InAnswers,
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, polled.ErrNoPolls) && h.refused.Load():
		return fmt.Errorf("health: %w from an allowed address: add the balancer's address to Handler.Allow", err)
	case errors.Is(err, polled.ErrNoPolls):
		return fmt.Errorf("health: %w: in HAProxy add \"option httpchk GET PATH\" to the backend, with the path of "+
			"this handler, and \"check inter 10ms fastinter 10ms downinter 10ms rise 1 fall 1\" to the server line; "+
			"in Envoy add health_checks to the cluster, with interval and no_traffic_interval 0.010s", err)
	}
	return fmt.Errorf("health: %w (inter, fastinter and downinter 10ms in HAProxy; interval and no_traffic_interval "+
		"0.010s in Envoy, or Handler.InAnswers)", err)
}

// serverState reads HAProxy's "UP 2/3; name=be/a; node=lb1".
func serverState(r *http.Request) polled.Says {
	v := r.Header[headerServerState]
	if len(v) != 1 {
		return polled.SaysNothing
	}
	state, _, _ := strings.Cut(v[0], ";")
	word, _, _ := strings.Cut(state, " ")
	switch word {
	case "UP":
		return polled.SaysUp
	case "DOWN", "NOLB":
		return polled.SaysDown
	}
	return polled.SaysNothing
}

// String returns "health check".
func (h *Handler) String() string { return "health check" }
