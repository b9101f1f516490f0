package raftgate

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
)

// Raft is a Raft group as this process's member sees it. Any goroutine may call its methods.
type Raft interface {
	// Status must not wait.
	Status() Status

	// Transfer hands the leadership to another voter, and returns nil when this member does not
	// lead. When ctx ends it gives up, if the library can.
	Transfer(ctx context.Context, to string) error
}

// Status is the state of a group.
type Status struct {
	ID     string  // of this member
	Leader string  // an id; empty: not known
	Voters []Voter // this one included
}

// A node that has stopped has no id.
func (s Status) leads() bool { return s.ID != "" && s.Leader == s.ID }

// yieldsTo reports whether another member goes first, if both collect without the turn.
func (s Status) yieldsTo(id string) bool { return id != s.Leader && (s.leads() || id < s.ID) }

// Voter is a member that may be handed the leadership.
type Voter struct {
	ID string

	// Behind is how many entries this voter may lack. Only the leader knows. 0: none, or not known.
	Behind uint64
}

// Member is this process in its group. Set the gate's Signals and Turns to it. Any goroutine may
// call its methods.
type Member struct {
	options Options
	gate    atomic.Pointer[gcgate.Gate] // nil until the gate starts
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex // guards what follows
	stats Stats

	// The turn.
	holds    bool
	wanted   time.Time // since when; zero: it is not
	wantedAt uint64    // its collections by then
	tried    time.Time // the last attempt
	promised uint64    // how often it let another member go first

	// A collection that another member has asked for runs.
	hurried            bool
	hurriedWithoutTurn bool

	// Collections without the turn.
	letGo bool // another member goes first
	going bool // it answers that it collects

	others map[string]*other // members that did not answer once, by id
}

// other is a member that may not answer. Guarded by Member.mu.
type other struct {
	silent  time.Time // since when it does not answer; zero: it does
	stalled time.Time // when it did not answer last
	ignored bool      // it has no say
	outage  gcgate.Outage
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
	Hurried     uint64 // collections that a leader asked for
}

// New returns a Member, or an [*evenkeel.OptionError]. Close it when the gate has stopped.
func New(o Options) (*Member, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Member{options: o, others: make(map[string]*other)}
	m.ctx, m.end = context.WithCancel(context.Background())
	return m, nil
}

// Close ends the goroutines of the Member.
func (m *Member) Close() {
	m.mu.Lock()
	m.end() // so that nothing new begins
	m.mu.Unlock()
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

func (m *Member) log() *slog.Logger { return m.gate.Load().Logger() }

// String names the signal for the gate's log.
func (m *Member) String() string { return "raft member " + m.options.Raft.Status().ID }

func (m *Member) count(change func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.stats)
}

type heap struct {
	fill      float64 // 0 after a collection, 1 at the trigger
	pressed   bool    // half-way from the trigger to the hard limit
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

// TryAcquire takes the turn if all other members agree. Otherwise it returns [gcgate.ErrHeld] and
// names the one that does not.
func (m *Member) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	st := m.options.Raft.Status()
	h := m.readHeap()
	m.mu.Lock()
	if m.holds {
		m.mu.Unlock()
		return nil, fmt.Errorf("raftgate: %w: this process itself", gcgate.ErrHeld)
	}
	now := time.Now()
	if m.wishLocked(st, h).Since == 0 {
		m.wanted, m.wantedAt = now, h.collected
	}
	m.tried = now
	mine := m.wishLocked(st, h)
	promised := m.promised
	m.mu.Unlock()

	for _, a := range m.askAll(ctx, askTimeout, askTimeout, question{From: st.ID, wish: mine}, st) {
		switch {
		case a.err == nil && !a.report.Go:
			return nil, fmt.Errorf("raftgate: %w: %s: %s", gcgate.ErrHeld, a.voter.ID, a.report.Why)
		case a.err != nil && m.hasSay(a):
			return nil, fmt.Errorf("raftgate: %w: assumed, because %s does not answer: %w", gcgate.ErrHeld,
				a.voter.ID, a.err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.promised != promised {
		// Another member was let go first. Neither goes.
		return nil, fmt.Errorf("raftgate: %w: another member asked at the same time", gcgate.ErrHeld)
	}
	m.holds, m.wanted = true, time.Time{}
	return &lease{member: m}, nil
}

type lease struct {
	member  *Member
	release sync.Once
}

// Lost returns nil, because no member takes the turn away.
func (l *lease) Lost() <-chan struct{} { return nil }

func (l *lease) Release(context.Context) error {
	l.release.Do(func() {
		l.member.mu.Lock()
		defer l.member.mu.Unlock()
		l.member.holds = false
	})
	return nil
}
