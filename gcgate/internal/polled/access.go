package polled

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"

	"evenkeel.dev/gcgate"
)

// Access decides who may poll, and explains the errors of [Peers]. Any goroutine may call its
// methods.
type Access struct {
	Log     atomic.Pointer[slog.Logger] // of the gate; nil: none has started
	refused atomic.Uint64
}

// Advice is what a signal's log and errors tell its user.
type Advice struct {
	Check   string // what is polled
	Allow   string // the field that allows an address
	NoPolls string // what makes a peer poll
	Slow    string // what makes it poll often
}

func (a *Access) Attach(g *gcgate.Gate) { a.Log.Store(g.Logger()) }

// Logger is that of the gate, or slog.Default() before Attach.
func (a *Access) Logger() *slog.Logger { return cmp.Or(a.Log.Load(), slog.Default()) }

// Admit is [Allowed], and logs the first refused poll at Debug.
func (a *Access) Admit(network, remote string, allow []netip.Prefix, advice *Advice) (from netip.Addr, ok bool) {
	from, ok = Allowed(network, remote, allow)
	if !ok && a.refused.Add(1) == 1 {
		a.Logger().Debug(advice.Check+" refused a poll; later ones are not logged", "from", remote,
			"fix", "if that is a balancer, add its address to "+advice.Allow)
	}
	return from, ok
}

func (a *Access) Refused() uint64 { return a.refused.Load() }

// Explain adds to an error of [Peers] what to do about it.
func (a *Access) Explain(err error, advice *Advice) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoPolls) && a.Refused() > 0:
		return fmt.Errorf("%s: %w from an allowed address: add the balancer's address to %s",
			advice.Check, err, advice.Allow)
	case errors.Is(err, ErrNoPolls):
		return fmt.Errorf("%s: %w: %s", advice.Check, err, advice.NoPolls)
	}
	return fmt.Errorf("%s: %w (%s)", advice.Check, err, advice.Slow)
}

// Allowed returns who polls, and whether they may. This host's loopback may, and the addresses in
// allow. A Unix socket has permissions of its own, and from is the zero Addr.
func Allowed(network, remote string, allow []netip.Prefix) (from netip.Addr, ok bool) {
	if network == "unix" {
		return netip.Addr{}, true
	}
	from, ok = parse(remote)
	return from, ok && (from.IsLoopback() || contains(allow, from))
}

func parse(remote string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		withPort, err := netip.ParseAddrPort(remote)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if ip := p.Addr(); ip.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(ip.Unmap(), p.Bits()-96)
		}
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
