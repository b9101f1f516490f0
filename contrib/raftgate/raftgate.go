package raftgate

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/gcgate"
)

// Raft is a Raft group as this process's member of it sees it.
// evenkeel.dev/contrib/raftgate/etcdraft and evenkeel.dev/contrib/raftgate/hashiraft implement it;
// for another library it is some thirty lines. Its methods may be called from any goroutine.
type Raft interface {
	// Status returns the state of the group. It must return at once, or nearly.
	Status() Status

	// Transfer hands the leadership to another voter, and returns nil when this member does not
	// lead any more. When ctx ends first it gives up, as far as the library can, so that this
	// member takes proposals again, and returns an error.
	Transfer(ctx context.Context, to string) error
}

// Status is the state of a group, as one member sees it.
type Status struct {
	ID     string  // of this member
	Leader string  // of the member that leads; empty: not known
	Voters []Voter // all members that vote, this one included
}

// leads reports whether this member leads. A node that has stopped has no id, and knows of no
// leader.
func (s Status) leads() bool { return s.ID != "" && s.Leader == s.ID }

// yieldsTo reports whether another member collects before this one, where both are about to without
// the turn.
func (s Status) yieldsTo(id string) bool { return id != s.Leader && (s.leads() || id < s.ID) }

// Voter is a member that may be handed the leadership.
type Voter struct {
	ID string

	// Behind is how many entries of the log this voter is not known to have. Only the leader
	// knows it; 0 where it is not known.
	Behind uint64
}

// Member is this process's part in its group: a [gcgate.Signal] that hands the leadership over
// before a collection, and the [gcgate.Turns] that the members agree on. Give it to the gate as
// both. Its methods may be called from any goroutine.
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
	wantedAt uint64    // how many times it had collected then: it may have gone without the turn since
	tried    time.Time // when it last tried to take it
	promised uint64    // how often it let another member go first

	// Collections that another member has asked for, and that run.
	hurried            bool
	hurriedWithoutTurn bool

	// Collections without the turn.
	letGo bool // it let another member go first since it last looked
	going bool // it collects, or is about to, whichever member asks

	// Members that do not answer, by id.
	silent  map[string]time.Time      // since when
	stalled map[string]time.Time      // when one did not answer last
	ignored map[string]bool           // those that have no say any more
	outages map[string]*gcgate.Outage // what the log knows of them
}

var (
	_ gcgate.Signal    = (*Member)(nil)
	_ gcgate.Attacher  = (*Member)(nil)
	_ gcgate.Turns     = (*Member)(nil)
	_ gcgate.Describer = (*Member)(nil)
)

// Stats tell what a [Member] did since [New].
type Stats struct {
	Transfers   uint64 // of the leadership, before a collection of this member
	GivenUp     uint64 // transfers that a successor did not take within Options.TransferTimeout
	KeptLeading uint64 // attempts to hand over before a collection that found no successor
	Hurried     uint64 // collections of this member that a leader asked for, to collect after it
}

// New returns this process's part in its group, or an [*evenkeel.OptionError]. Close it when the gate has
// stopped.
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

// Close ends what runs in the background, and waits for it. It may be called again.
func (m *Member) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.end()
	m.running.Wait()
}

// Stats returns what was done since [New].
func (m *Member) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Attach is called by gcgate.Start.
func (m *Member) Attach(g *gcgate.Gate) { m.gate.Store(g) }

// log returns the logger. Before a gate starts that is slog.Default().
func (m *Member) log() *slog.Logger {
	if g := m.gate.Load(); g != nil && m.options.Logger == nil {
		return g.Logger()
	}
	return cmp.Or(m.options.Logger, slog.Default())
}

// String names the signal for the gate's log.
func (m *Member) String() string { return "raft member " + m.options.Raft.Status().ID }

// count changes the stats.
func (m *Member) count(change func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.stats)
}

// heap is how full this member's heap is.
type heap struct {
	fill      float64 // 0 after a collection, 1 at the trigger
	pressed   bool    // it is past the middle between the trigger and the hard threshold
	busy      bool    // it is about to collect, collects, or comes back
	collects  bool    // it collects or comes back
	collected uint64  // so many times
}

// readHeap asks the gate. Without one nothing is ever collected.
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
