package raftgate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

// TryAcquire takes the turn if all other members agree, in one round trip. Otherwise it returns
// [gcgate.ErrHeld] with the member that does not.
func (m *Member) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	st := m.options.Raft.Status()
	h := m.readHeap()
	m.mu.Lock()
	if m.holds {
		m.mu.Unlock()
		return nil, fmt.Errorf("raftgate: %w: this process itself", gcgate.ErrHeld)
	}
	now := time.Now()
	if _, wants := m.wishLocked(st, h); !wants {
		m.wanted, m.wantedAt = now, h.collected
	}
	m.tried = now
	mine, _ := m.wishLocked(st, h)
	promised := m.promised
	m.mu.Unlock()

	for _, a := range m.askAll(ctx, askTimeout, askTimeout, question{From: st.ID, wish: mine}, st) {
		switch {
		case a.err == nil && !a.report.Go:
			return nil, fmt.Errorf("raftgate: %w: %s: %s", gcgate.ErrHeld, a.voter.ID, a.report.Why)
		case a.err != nil && m.hasSay(a):
			return nil, fmt.Errorf("raftgate: %w, or so it is taken: %s does not answer: %w", gcgate.ErrHeld,
				a.voter.ID, a.err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.promised != promised {
		// This member has let another one go first since it asked. Neither goes.
		return nil, fmt.Errorf("raftgate: %w: a member that asked meanwhile", gcgate.ErrHeld)
	}
	m.holds, m.wanted = true, time.Time{}
	return &lease{member: m}, nil
}

// lease implements gcgate.Lease.
type lease struct {
	member  *Member
	release sync.Once
}

// Lost returns nil, because no member takes the turn from a process that runs.
func (l *lease) Lost() <-chan struct{} { return nil }

// Release lets other members go from now on.
func (l *lease) Release(context.Context) error {
	l.release.Do(func() {
		l.member.mu.Lock()
		defer l.member.mu.Unlock()
		l.member.holds = false
	})
	return nil
}
