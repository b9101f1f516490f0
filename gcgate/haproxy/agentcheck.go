package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/polled"
)

const (
	agentConns   = 64 // at a time
	agentTimeout = 200 * time.Millisecond
	agentInput   = 1024
	acceptRetry  = 100 // failures of Accept in a row that may last
	acceptWarn   = 10  // failures until a log line
)

// Only "ready" ends a drain, and only "up" the "down" of an earlier agent. HAProxy 2.6 needs the
// end of the line.
const (
	agentReady = "ready up\n"
	agentDrain = "drain\n"
)

var agentAdvice = polled.Advice{
	Check: "haproxy: the agent-check",
	Allow: "AgentCheck.Allow",
	NoPolls: `add "agent-check agent-port PORT agent-inter 10ms" to HAProxy's server line, ` +
		`with the port that Serve listens on`,
	Slow: "agent-inter 10ms",
}

// AgentCheck is a [gcgate.Signal] that answers HAProxy's agent-check
// (deploy/haproxy/agent-check.cfg).
//
// HAProxy must poll every 10 ms. If it polls too slowly, the signal is silent, and the log names
// the interval. Drain and Ready return when each address has polled once more after its answer.
// Ready does not wait for an address that has not polled for 30 s.
//
// Each answer ends an operator's maintenance. To take a server out, write "disable agent B/S"
// before "set server B/S state maint".
//
// Do not change the fields once the signal is in use. Any goroutine may call its methods.
type AgentCheck struct {
	// Allow are the addresses that may poll, and this machine's loopback. Default: none.
	Allow []netip.Prefix

	// Pollers is how many poll from one address: HAProxy processes, times the backends with this
	// server. Default: 0, which is 1.
	Pollers int

	peers  polled.Peers
	access polled.Access
}

// Serve answers the agent-checks that come to l, until l is closed. It closes l itself, too.
// Its error is never nil: net.ErrClosed, that of Accept, or an [*evenkeel.OptionError].
func (a *AgentCheck) Serve(l net.Listener) error {
	defer l.Close()
	if err := a.Validate(); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, agentConns)
	var refused gcgate.Outage
	for failed := 0; ; {
		conn, err := l.Accept()
		if err != nil {
			if failed++; errors.Is(err, net.ErrClosed) || failed > acceptRetry && !passes(err) {
				return fmt.Errorf("haproxy: the agent-check has ended: %w", err)
			}
			if failed == acceptWarn {
				refused.Began(a.access.Logger(),
					"haproxy: the agent-check cannot accept connections, so HAProxy keeps the last state "+
						"that it got; trying again",
					"error", err)
			}
			time.Sleep(min(time.Duration(failed)*5*time.Millisecond, time.Second))
			continue
		}
		failed = 0
		refused.Over(a.access.Logger(), "haproxy: the agent-check accepts connections again")
		from, ok := a.access.Admit(conn.LocalAddr().Network(), conn.RemoteAddr().String(), a.Allow, &agentAdvice)
		if !ok {
			conn.Close()
			continue
		}
		slots <- struct{}{} // free again within agentTimeout
		running.Go(func() {
			a.answer(conn, from)
			<-slots
		})
	}
}

// Attach implements [gcgate.Attacher].
func (a *AgentCheck) Attach(g *gcgate.Gate) { a.access.Attach(g) }

func passes(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED,
	},
		func(kind error) bool { return errors.Is(err, kind) })
}

func (a *AgentCheck) answer(conn net.Conn, from netip.Addr) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(agentTimeout))
	draining := a.peers.Begin(from, polled.SaysNothing)
	text := agentReady
	if draining {
		text = agentDrain
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return
	}
	a.peers.Answered(from, draining)
	// Read what agent-send sent, because a close with bytes unread may reset the answer.
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
	io.CopyN(io.Discard, conn, agentInput)
}

// Drain answers "drain" from now on. [AgentCheck] says when it returns.
func (a *AgentCheck) Drain(ctx context.Context, _ time.Duration) error {
	return a.with(func(d polled.Demand) error { return a.peers.Drain(ctx, d) })
}

// Ready answers "ready up" from now on. [AgentCheck] says when it returns.
func (a *AgentCheck) Ready(ctx context.Context) error {
	return a.with(func(d polled.Demand) error { return a.peers.Ready(ctx, d) })
}

// CanConfirm implements [gcgate.Confirmer].
func (a *AgentCheck) CanConfirm(within time.Duration) error {
	return a.with(func(d polled.Demand) error { return a.peers.CanConfirm(within, d) })
}

// Check waits until HAProxy has polled.
func (a *AgentCheck) Check(ctx context.Context) error {
	return a.with(func(polled.Demand) error { return a.peers.Heard(ctx) })
}

func (a *AgentCheck) with(do func(polled.Demand) error) error {
	if err := a.Validate(); err != nil {
		return err
	}
	return a.access.Explain(do(polled.Demand{Pollers: a.Pollers}), &agentAdvice)
}

// Validate implements [gcgate.Validator].
func (a *AgentCheck) Validate() error {
	if a.Pollers < 0 {
		return evenkeel.NewOptionError("haproxy.AgentCheck", "Pollers", "%d is negative: write 1 or more, or 0 for 1",
			a.Pollers)
	}
	return nil
}

// String returns "agent-check".
func (a *AgentCheck) String() string { return "agent-check" }

// WhyIgnored implements [gcgate.Explainer].
func (a *AgentCheck) WhyIgnored() string { return sticky }
