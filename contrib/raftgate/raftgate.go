package raftgate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
)

// Raft is a Raft group as this process's member sees it. The modules etcdraft and hashiraft
// implement it. Any goroutine may call its methods.
type Raft interface {
	// Status returns the state of the group. It must not wait.
	Status() Status

	// Transfer hands the leadership to another voter, and returns nil when this member does not
	// lead. When ctx ends first it gives up, if the library can, so that this member takes
	// proposals again.
	Transfer(ctx context.Context, to string) error
}

// Status is the state of a group, as one member sees it.
type Status struct {
	ID     string  // of this member
	Leader string  // id of the leader; empty: not known
	Voters []Voter // this one included
}

// leads is false for a node that has stopped, which has no id.
func (s Status) leads() bool { return s.ID != "" && s.Leader == s.ID }

// yieldsTo reports whether another member collects before this one, if both do so without the turn.
func (s Status) yieldsTo(id string) bool { return id != s.Leader && (s.leads() || id < s.ID) }

// Voter is a member that may be handed the leadership.
type Voter struct {
	ID string

	// Behind is how many entries of the log this voter may not have. It is 0 if not known. Only
	// the leader knows it.
	Behind uint64
}

// Member is this process in its group, as a [gcgate.Signal] and as [gcgate.Turns]. Set both options
// of the gate to it. Any goroutine may call its methods.
type Member struct {
	options Options
	gate    atomic.Pointer[gcgate.Gate] // nil until the gate starts
	ctx     context.Context             // of what runs in the background
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	stats  Stats

	// The turn.
	holds    bool
	wanted   time.Time // since when this member wants it; zero: it does not
	wantedAt uint64    // its collections by then
	tried    time.Time // when it last tried to take it
	promised uint64    // how often it let another member go first

	// A collection runs that another member has asked for.
	hurried            bool
	hurriedWithoutTurn bool

	// Collections without the turn.
	letGo bool // it let another member go first since it last asked
	going bool // it answers that it collects

	// Members that do not answer, by id.
	silent  map[string]time.Time // since when
	stalled map[string]time.Time // when one did not answer last
	ignored map[string]bool      // those without a say
	outages map[string]*gcgate.Outage
}

var (
	_ gcgate.Signal    = (*Member)(nil)
	_ gcgate.Attacher  = (*Member)(nil)
	_ gcgate.Turns     = (*Member)(nil)
	_ gcgate.Describer = (*Member)(nil)
)

// Stats tell what a [Member] did since [New].
type Stats struct {
	Transfers   uint64 // of the leadership
	GivenUp     uint64 // transfers that took longer than Options.TransferTimeout
	KeptLeading uint64 // attempts to hand over that found no successor
	Hurried     uint64 // collections that a leader asked for, to collect after this member
}

// New returns a Member, or an [*evenkeel.OptionError]. Close it when the gate has stopped.
func New(o Options) (*Member, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Member{
		options: o, silent: make(map[string]time.Time), stalled: make(map[string]time.Time),
		ignored: make(map[string]bool), outages: make(map[string]*gcgate.Outage),
	}
	m.ctx, m.end = context.WithCancel(context.Background())
	return m, nil
}

// Close ends the goroutines of the Member.
func (m *Member) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.end()
	m.running.Wait()
}

// Stats returns the counts since [New].
func (m *Member) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Attach is called by gcgate.Start.
func (m *Member) Attach(g *gcgate.Gate) { m.gate.Store(g) }

func (m *Member) log() *slog.Logger {
	if g := m.gate.Load(); g != nil && m.options.Logger == nil {
		return g.Logger()
	}
	return cmp.Or(m.options.Logger, slog.Default())
}

// String names the signal for the gate's log.
func (m *Member) String() string { return "raft member " + m.options.Raft.Status().ID }

func (m *Member) count(change func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.stats)
}

type heap struct {
	fill      float64 // 0 after a collection, 1 at the trigger
	pressed   bool    // past the middle between the trigger and the hard limit
	busy      bool    // about to collect, or collects
	collects  bool
	collected uint64 // how many times
}

func (m *Member) readHeap() heap {
	g := m.gate.Load()
	if g == nil {
		return heap{}
	}
	s := g.Stats()
	h := heap{
		pressed: s.Heap >= s.Trigger/2+s.Hard/2,
		busy:    s.State >= gcgate.StateAnnouncing, collects: s.State >= gcgate.StateCollecting,
	}
	for _, n := range s.Collections {
		h.collected += n
	}
	if s.Heap > s.Live && s.Trigger > s.Live {
		h.fill = float64(s.Heap-s.Live) / float64(s.Trigger-s.Live)
	}
	return h
}

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
