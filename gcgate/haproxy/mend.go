package haproxy

import (
	"cmp"
	"context"
	"strings"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	mendRest  = time.Second            // each look wakes an idle process
	mendLook  = 250 * time.Millisecond // while a server is drained
	mendAfter = 2500 * time.Millisecond
	mendLimit = time.Hour
	mendAgain = time.Minute // for a server that was drained again at once
)

// Watch implements [gcgate.Watcher]. Once per second it puts back servers that a killed process has
// left drained, but not while another replica has the turn.
func (h *RuntimeAPI) Watch(ctx context.Context, g *gcgate.Gate) {
	m := mender{own: h.Server, drained: make(map[string]*drainedServer)}
	tick := time.NewTicker(mendRest)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		servers, _, err := h.look(ctx, "")
		if err != nil {
			continue
		}
		now := time.Now()
		due := m.leftBehind(now, servers, h.mendAfter(g.Stats().Expected))
		if tick.Reset(mendRest); len(m.drained) > 0 {
			tick.Reset(mendLook)
		}
		if len(due) == 0 {
			continue
		}
		end, err := g.BorrowTurn(ctx)
		if err != nil { // the holder may be drained and stalled
			m.forgetReadied(due)
			continue
		}
		for _, name := range due {
			drainedFor := now.Sub(m.drained[name].since).Round(time.Millisecond)
			if err := h.putBack(ctx, name); err != nil {
				g.Logger().Warn(
					"haproxy: a server was left drained, and cannot be put back; its error says what to set",
					"server", h.Backend+"/"+name, "drained_for", drainedFor, "error", err)
				continue
			}
			g.Logger().Warn(
				"haproxy: put back a server that was left drained, by a process that was killed or "+
					"drains for unusually long",
				"server", h.Backend+"/"+name, "drained_for", drainedFor, "signal", h.String(),
				"fix", "if its collections or drains take so long, raise RuntimeAPI.MendAfter; "+
					"if an operator drained it, use state maint")
		}
		end()
	}
}

func (h *RuntimeAPI) mendAfter(expected time.Duration) time.Duration {
	return cmp.Or(h.MendAfter, mendAfter) + expected
}

func (h *RuntimeAPI) putBack(ctx context.Context, name string) error {
	if strings.Trim(name, nameChars) != "" {
		return h.errorf("%w: %q is no name", errNotConfirmed, name)
	}
	servers, _, err := h.look(ctx, h.set(name, "ready"))
	if err != nil {
		return err
	}
	for _, s := range servers {
		if s.name == name && s.isDrained() {
			return h.errorf("%w: server %s is still drained after \"state ready\": is something else draining it?",
				errNotConfirmed, name)
		}
	}
	return nil
}

// mender knows for how long servers have been drained. One Watch owns it.
type mender struct {
	own     string
	looked  time.Time
	drained map[string]*drainedServer
}

type drainedServer struct {
	since   time.Time
	readied time.Time // drained again by the next look; zero: no
}

// leftBehind returns the servers to put back now. One that was drained again at once has a process
// that collects, and is left out for mendAgain.
func (m *mender) leftBehind(now time.Time, servers []server, after time.Duration) (names []string) {
	if now.Sub(m.looked) > 2*mendRest {
		clear(m.drained) // a gap in the looks
	}
	m.looked = now
	for _, s := range servers {
		switch d := m.drained[s.name]; {
		case s.name == m.own:
		case !s.isDrained() || s.inMaint():
			delete(m.drained, s.name)
		case d == nil:
			m.drained[s.name] = &drainedServer{since: now}
		case now.Sub(d.since) >= after && (d.readied.IsZero() || now.Sub(d.readied) >= mendAgain):
			d.readied = now
			names = append(names, s.name)
		}
	}
	return names
}

func (m *mender) forgetReadied(names []string) {
	for _, name := range names {
		m.drained[name].readied = time.Time{}
	}
}
