package raftgate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// behindMax is how many entries a successor may have to catch up with: meanwhile nothing is written.
	behindMax = 256

	// slowFactor is how many times longer than its answer a transfer to a member may take, and than
	// Options.TransferTimeout: on a busy machine both are slow, and a transfer that is given up may
	// yet take place, and leave the group without a leader.
	slowFactor = 10

	// steadyAfter is how long a member that did not answer is handed the leadership only if nobody else
	// takes it: one that stalls now and then does so when it leads, too.
	steadyAfter = 10 * time.Second

	// standBackPause is between two looks at whether another member collects.
	standBackPause = 2 * time.Millisecond
)

// Drain hands the leadership over, if this member leads, to the one of the others that answers at once
// and whose heap is the emptiest, so that it leads for long. It returns nil when this member does not
// lead any more, and [ErrNoSuccessor] when nobody took over: the gate tries again while it collects.
//
// At a collection without the turn it first waits, as long as the gate waits for it, until no other
// member collects, and then hands over only to a member that has collected lately: else two members
// whose heaps are full would hand the leadership to and fro, which costs more than collecting. Where there
// is none it asks one of the others to collect now, and waits for that.
func (m *Member) Drain(ctx context.Context, _ time.Duration) error {
	m.mu.Lock()
	turn := m.holds
	m.mu.Unlock()
	if turn {
		return m.handOver(ctx, true)
	}
	m.standBack(ctx)
	if !m.options.Raft.Status().leads() {
		return nil
	}
	defer m.standBack(ctx) // meanwhile another one may have begun
	return m.handOver(ctx, false)
}

// Ready does nothing: a member that is back follows, and hears of what it missed by the log.
func (m *Member) Ready(context.Context) error { return nil }

// CanDrainAlone tells the gate that Drain knows what may be done without the turn.
func (m *Member) CanDrainAlone() error { return nil }

// KeepsRequests tells the gate that a member that does not lead is no reason for clients to go elsewhere: it serves reads, and hands
// proposals on.
func (m *Member) KeepsRequests() bool { return true }

// standBack waits until no other member collects. Of two that are about to, the one with the lower id goes
// first, but the leader last.
func (m *Member) standBack(ctx context.Context) {
	for st := m.options.Raft.Status(); ; {
		busy := false
		for _, a := range m.askAll(ctx, askTimeout, question{From: st.ID}, st) {
			first := a.report.Away && a.voter.ID != st.Leader && (st.leads() || a.voter.ID < st.ID)
			busy = busy || a.err == nil && (a.report.Collects || first)
		}
		if !busy {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(standBackPause):
		}
	}
}

// handOver hands the leadership to the best successor, and to the next best where that does not take it.
func (m *Member) handOver(ctx context.Context, turn bool) error {
	var failed error
	for tried := map[string]bool{}; ; {
		st := m.options.Raft.Status()
		if !st.leads() {
			return nil
		}
		to, bound, full := m.successor(ctx, st, turn, tried)
		if to == "" && full != "" && m.letCollect(ctx, st, full) {
			continue
		}
		if to == "" {
			m.count(func(s *Stats) { s.KeptLeading++ })
			if !turn && failed == nil {
				return nil // as it was meant to be
			}
			return errors.Join(ErrNoSuccessor, failed)
		}
		tried[to] = true
		if err := m.transfer(ctx, bound, to); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", to, err))
		}
	}
}

// transfer hands the leadership to one member, or gives up.
func (m *Member) transfer(ctx context.Context, bound time.Duration, to string) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	begin := time.Now()
	err := m.options.Raft.Transfer(ctx, to)
	m.options.Logger.Debug("raftgate: transfer of the leadership", "to", to, "took", time.Since(begin), "error", err)
	m.count(func(s *Stats) {
		if err == nil {
			s.Transfers++
		} else {
			s.GivenUp++
		}
	})
	return err
}

// letCollect asks a follower whose heap is full to collect now, and waits until no other member does. It reports
// false when the gate does not wait any more.
func (m *Member) letCollect(ctx context.Context, st Status, id string) bool {
	m.askAll(ctx, askTimeout, question{From: st.ID, After: true}, Status{ID: st.ID, Voters: []Voter{{ID: id}}})
	select {
	case <-ctx.Done():
	case <-time.After(standBackPause): // it begins
		m.standBack(ctx)
	}
	return ctx.Err() == nil
}

// successor returns the voter to hand the leadership to, empty where there is none, and how long that may
// take. Being asked proves that it does not stall: what it is told next it does at once. Without the turn
// full is the best of those that would have to collect first.
func (m *Member) successor(ctx context.Context, st Status, turn bool, tried map[string]bool) (best string, bound time.Duration, full string) {
	var chosen candidate
	shortest := m.options.TransferTimeout
	for _, a := range m.askAll(ctx, 2*shortest, question{From: st.ID}, st) {
		c := candidate{full: a.report.Fill > yieldFill, unsteady: !m.isSteady(a.voter.ID), fill: a.report.Fill}
		if a.err != nil || a.report.Away || tried[a.voter.ID] || a.voter.Behind > behindMax {
			continue
		}
		if best == "" || c.before(chosen) {
			best, chosen = a.voter.ID, c
			bound = min(max(shortest, slowFactor*a.took), slowFactor*shortest)
		}
	}
	if chosen.full && !turn {
		best, full = "", best
	}
	return best, bound, full
}

// candidate is what counts of a successor.
type candidate struct {
	full     bool // it would have to hand the leadership on soon
	unsteady bool
	fill     float64
}

// before reports whether c is the better one.
func (c candidate) before(d candidate) bool {
	switch {
	case c.full != d.full:
		return d.full
	case c.unsteady != d.unsteady:
		return d.unsteady
	}
	return c.fill < d.fill
}
