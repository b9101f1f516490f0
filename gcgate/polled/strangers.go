package polled

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
)

// Advice is what a signal's log and errors tell its user to do.
type Advice struct {
	Check  string // what is polled, as "health: the health check"
	Allow  string // the field that allows an address, as "Handler.Allow"
	Nobody string // what makes a peer poll at all
	Slow   string // what makes it poll more often
}

// Strangers are those who poll though they may not: it counts them, and logs the first one. The
// zero value has seen none. Its methods may be called from any goroutine; a Strangers must not be
// copied.
type Strangers struct{ n atomic.Uint64 }

// Admit returns what [Allowed] does. A poll that is not allowed is counted, and the first one is
// logged at Debug, to log (nil: slog.Default()).
func (s *Strangers) Admit(network, remote string, allow []netip.Prefix, log *slog.Logger,
	advice *Advice,
) (from netip.Addr, ok bool) {
	from, ok = Allowed(network, remote, allow)
	if !ok && s.n.Add(1) == 1 {
		if log == nil {
			log = slog.Default()
		}
		log.Debug(advice.Check+" was polled by a stranger, who is refused; later ones are not logged", "from", remote,
			"fix", "add the address to "+advice.Allow+" if it is a balancer's")
	}
	return from, ok
}

// Count returns how many polls were refused.
func (s *Strangers) Count() uint64 { return s.n.Load() }

// Explain adds to an error of [Peers] what to do about it. If only strangers poll, that is to allow
// them. The error nil stays nil.
func (s *Strangers) Explain(err error, advice *Advice) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNobody) && s.Count() > 0:
		return fmt.Errorf("%s: %w but strangers: add the balancer's address to %s", advice.Check, err, advice.Allow)
	case errors.Is(err, ErrNobody):
		return fmt.Errorf("%s: %w: %s", advice.Check, err, advice.Nobody)
	}
	return fmt.Errorf("%s: %w (%s)", advice.Check, err, advice.Slow)
}
