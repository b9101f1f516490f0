package raftgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	// behindMax is how many entries a successor may have to catch up with. Until then nothing is
	// written.
	behindMax = 256

	// slowFactor is how many times longer than its answer a transfer to a member may take, and than
	// Options.TransferTimeout: on a busy machine both are slow, and a transfer that is given up may
	// yet take place, and leave the group without a leader.
	slowFactor = 10

	// steadyAfter is how long a member that did not answer gets the leadership only if no other takes
	// it, because one that stalls now and then does so when it leads, too.
	steadyAfter = 10 * time.Second

	// othersPause is between two looks at whether another member collects.
	othersPause = 2 * time.Millisecond

	// beginWithin is how long a member that was asked to collect may take to begin. Its gate looks for
	// the turn first, and on a busy machine it comes late.
	beginWithin = 100 * time.Millisecond

	// sweepFactor is how many times longer than its mark phase a member may be busy. The gate waits
	// for the sweep, for as long again.
	sweepFactor = 2
)

// Drain hands the leadership over, if this member leads, to the one of the others that answers at
// once and whose heap is the emptiest, so that it leads for long. It returns nil when this member
// does not lead any more, and [ErrNoSuccessor] if no member took over. The gate tries again while
// it collects.
//
// At a collection without the turn it first waits, as long as the gate waits for it, until no other
// member collects, and then hands over only to a member that has collected lately: else two members
// whose heaps are full would hand the leadership to and fro, which costs more than collecting.
// Where there is none it asks one of the others to collect now, and waits for that.
func (m *Member) Drain(ctx context.Context, _ time.Duration) error {
	m.mu.Lock()
	turn := m.holds
	m.mu.Unlock()
	if turn {
		return m.handOver(ctx)
	}
	if m.readHeap().collects {
		return m.handOverWithoutTurn(ctx) // the gate did not wait any more
	}
	for {
		if err := m.awaitOthers(ctx); err != nil {
			return err
		}
		if err := m.handOverWithoutTurn(ctx); err != nil {
			return err
		}
		if m.goes() {
			return nil
		}
	}
}

// goes has this member answer from now on that it collects, and reports true, unless it let another
// go first since it looked.
func (m *Member) goes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going = !m.letGo
	return m.going
}

// Ready asks nothing of the others. A member that is back follows, and hears of what it missed by
// the log.
func (m *Member) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going = false
	return nil
}

// Describe tells the gate that clients stay with a member that does not lead, because it serves
// reads and hands proposals on, and that Drain knows what is allowed without the turn.
func (m *Member) Describe() gcgate.Description {
	return gcgate.Description{KeepsRequests: true, DrainWithoutTurn: m.drainWithoutTurn}
}

// drainWithoutTurn returns how long the other members may take to collect before this one.
func (m *Member) drainWithoutTurn() (patience time.Duration, err error) {
	if g := m.gate.Load(); g != nil {
		others := len(m.options.Raft.Status().Voters) - 1
		patience = time.Duration(max(others, 0)) * sweepFactor * g.Stats().Expected
	}
	return 2*askTimeout + patience, nil
}

// awaitOthers waits until no other member collects, or returns ctx's error. Of two that are about
// to, the one with the lower id goes first, but the leader last.
func (m *Member) awaitOthers(ctx context.Context) error {
	for ctx.Err() == nil {
		m.mu.Lock()
		m.letGo = false
		m.mu.Unlock()
		st, busy := m.options.Raft.Status(), false
		for _, a := range m.askAll(ctx, askTimeout, unsteadyTimeout, question{From: st.ID, WithoutTurn: true}, st) {
			busy = busy || a.err == nil && (a.report.Collects || a.report.Busy && st.yieldsTo(a.voter.ID))
		}
		if !busy {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(othersPause):
		}
	}
	return ctx.Err()
}

// handOver hands the leadership to the best successor, and to the next best if that does not take
// it.
func (m *Member) handOver(ctx context.Context) error {
	var failed error
	for tried := map[string]bool{}; ; {
		st := m.options.Raft.Status()
		if !st.leads() {
			return nil
		}
		best, _ := m.successor(ctx, st, tried)
		if best.ID == "" {
			m.count(func(s *Stats) { s.KeptLeading++ })
			return errors.Join(ErrNoSuccessor, failed)
		}
		tried[best.ID] = true
		failed = errors.Join(failed, m.transfer(ctx, best))
	}
}

// handOverWithoutTurn is handOver without the turn, to a member whose heap is not full. If there is
// none it has one collect first.
func (m *Member) handOverWithoutTurn(ctx context.Context) error {
	var failed error
	var asked string // to collect
	var since time.Time
	for tried := map[string]bool{}; ; {
		st := m.options.Raft.Status()
		if !st.leads() {
			return nil
		}
		best, busy := m.successor(ctx, st, tried)
		switch {
		case best.ID != "" && !best.full:
			tried[best.ID] = true
			failed = errors.Join(failed, m.transfer(ctx, best))
		case ctx.Err() != nil || m.readHeap().collects || best.ID == "" && !busy:
			m.count(func(s *Stats) { s.KeptLeading++ })
			if failed == nil {
				return ctx.Err() // nil: there is no successor, and this member collects while it leads
			}
			return errors.Join(ErrNoSuccessor, failed)
		case best.ID == "":
			_ = m.awaitOthers(ctx)
		case asked == "":
			asked, since = best.ID, time.Now()
			m.askAll(ctx, askTimeout, unsteadyTimeout, question{From: st.ID, After: true},
				Status{ID: st.ID, Voters: []Voter{best.Voter}})
		case time.Since(since) > beginWithin:
			tried[asked] = true // it does not collect
			asked = ""
		default:
			time.Sleep(othersPause)
			_ = m.awaitOthers(ctx)
		}
	}
}

// transfer hands the leadership to one member, or gives up.
func (m *Member) transfer(ctx context.Context, to candidate) error {
	ctx, cancel := context.WithTimeout(ctx, to.bound)
	defer cancel()
	begin := time.Now()
	err := m.options.Raft.Transfer(ctx, to.ID)
	m.log().Debug("raftgate: transfer of the leadership", "to", to.ID, "took", time.Since(begin), "error", err)
	m.count(func(s *Stats) {
		if err == nil {
			s.Transfers++
		} else {
			s.GivenUp++
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", to.ID, err)
	}
	return nil
}

// successor returns the voter to hand the leadership to, without an id if there is none. busy
// reports whether another one collects, so that there may be one later. A member that answers does
// not stall, so it does at once what it is asked next.
func (m *Member) successor(ctx context.Context, st Status, tried map[string]bool) (best candidate, busy bool) {
	shortest := m.options.TransferTimeout
	for _, a := range m.askAll(ctx, 2*shortest, 2*shortest, question{From: st.ID}, st) {
		c := candidate{
			Voter: a.voter, bound: min(max(shortest, slowFactor*a.took), slowFactor*shortest),
			full: a.report.Fill > yieldFill, unsteady: !m.isSteady(a.voter.ID), fill: a.report.Fill,
		}
		switch {
		case a.err != nil || tried[c.ID] || a.voter.Behind > behindMax:
		case a.report.Busy:
			busy = true
		case best.ID == "" || c.before(best):
			best = c
		}
	}
	return best, busy
}

// candidate is a member that may be the successor.
type candidate struct {
	Voter
	bound    time.Duration // of a transfer
	full     bool          // it would have to hand the leadership on soon
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
