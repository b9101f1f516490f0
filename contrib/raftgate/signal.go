package raftgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	// behindMax bounds the entries that a successor lacks. The group waits for them.
	behindMax = 256

	// slowFactor is how many times longer than the member's answer, or than
	// Options.TransferTimeout, a transfer may take. One that is given up may still take place, and
	// leave the group without a leader.
	slowFactor = 10

	// steadyAfter is how long a member that did not answer comes last as a successor.
	steadyAfter = 10 * time.Second

	othersPause = 2 * time.Millisecond

	// beginWithin is how long a member may take to begin a collection.
	beginWithin = 100 * time.Millisecond

	// sweepFactor is how many times longer than its mark phase a member is busy.
	sweepFactor = 2
)

// Drain implements [gcgate.Signal]. If this member leads, it hands over to the member with the
// emptiest heap of those that answer, or returns [ErrNoSuccessor].
func (m *Member) Drain(ctx context.Context, _ time.Duration) error {
	m.mu.Lock()
	turn := m.holds
	m.mu.Unlock()
	if turn || m.readHeap().collects { // the gate did not wait
		return m.handOver(ctx, turn)
	}
	for {
		if err := m.awaitOthers(ctx); err != nil {
			return err
		}
		if err := m.handOver(ctx, false); err != nil {
			return err
		}
		if m.goes() {
			return nil
		}
	}
}

// goes has this member answer that it collects, unless another one goes first.
func (m *Member) goes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going = !m.letGo
	return m.going
}

// Ready implements [gcgate.Signal].
func (m *Member) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going = false
	return nil
}

// Describe tells the gate that a follower keeps its clients, because it serves reads and forwards
// proposals.
func (m *Member) Describe() gcgate.Description {
	return gcgate.Description{KeepsRequests: true, DrainWithoutTurn: m.drainWithoutTurn}
}

// drainWithoutTurn returns how long all other members may take to collect.
func (m *Member) drainWithoutTurn() (patience time.Duration, err error) {
	if g := m.gate.Load(); g != nil {
		others := len(m.options.Raft.Status().Voters) - 1
		patience = time.Duration(max(others, 0)) * sweepFactor * g.Stats().Expected
	}
	return 2*askTimeout + patience, nil
}

// awaitOthers waits until no other member collects. The lower id goes first, and the leader last.
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

// handOver hands over to the best successor. Without the turn that is a member whose heap is not
// full. If there is none, handOver has one collect first.
func (m *Member) handOver(ctx context.Context, withTurn bool) error {
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
		case best.ID != "" && (withTurn || !best.full):
			tried[best.ID] = true
			failed = errors.Join(failed, m.transfer(ctx, best))
		case withTurn || ctx.Err() != nil || m.readHeap().collects || best.ID == "" && !busy:
			m.count(func(s *Stats) { s.KeptLeading++ })
			if failed == nil && !withTurn {
				return ctx.Err() // nil: this member collects while it leads
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

// successor returns the best successor, without an id if there is none. busy: one collects, and may
// be the successor later.
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

type candidate struct {
	Voter
	bound    time.Duration // of a transfer
	full     bool          // it has to collect soon
	unsteady bool
	fill     float64
}

func (c candidate) before(d candidate) bool {
	switch {
	case c.full != d.full:
		return d.full
	case c.unsteady != d.unsteady:
		return d.unsteady
	}
	return c.fill < d.fill
}
