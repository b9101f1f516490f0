package raftgate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/gcgate"
)

const (
	// askTimeout leaves a member that collects on one core a few time slices of 10 ms.
	askTimeout = 250 * time.Millisecond

	// unsteadyTimeout is for a member that did not answer lately.
	unsteadyTimeout = 100 * time.Millisecond

	// silentFor is how long a member that does not answer counts as collecting. A pause between two
	// questions restarts it, because the member may have run during it.
	silentFor = 5 * time.Second

	// wantFor is how long a member wants the turn after its last attempt, twice the gate's longest
	// pause between two attempts.
	wantFor = 2 * time.Second

	// yieldFill is from which fill a follower collects before the leader.
	yieldFill = 0.5
)

// question asks another member for its state, and whether the asker may collect.
type question struct {
	From string `json:"from"`
	wish

	// WithoutTurn: the asker is about to collect without the turn. After: it leads, has no turn,
	// and waits for this member to collect.
	WithoutTurn bool `json:"without_turn,omitempty"`
	After       bool `json:"after,omitempty"`
}

type wish struct {
	Since int64 `json:"since,omitempty"` // in nanoseconds since 1970; 0: no wish
	Last  bool  `json:"last,omitempty"`  // it leads, and has memory left
}

// before orders two wishes. Clocks that differ only make it unfair.
func (w wish) before(id string, v wish, other string) bool {
	switch {
	case w.Last != v.Last:
		return v.Last
	case w.Since != v.Since:
		return w.Since < v.Since
	}
	return id < other
}

type report struct {
	Go       bool    `json:"go"`            // the asker may collect
	Why      string  `json:"why,omitempty"` // it may not
	Busy     bool    `json:"busy"`          // about to collect, or collecting
	Collects bool    `json:"collects"`      // or has the turn
	Fill     float64 `json:"fill"`          // 0 after a collection, 1 at the trigger
}

// Answer answers a question of another member. It does not block. An error is about the question.
func (m *Member) Answer(asked []byte) (answer []byte, err error) {
	var q question
	if err := json.Unmarshal(asked, &q); err != nil {
		return nil, fmt.Errorf("raftgate: this is not a member's question: %w", err)
	}
	return json.Marshal(m.answer(q))
}

func (m *Member) answer(q question) report {
	h, st := m.readHeap(), m.options.Raft.Status()
	m.mu.Lock()
	defer m.mu.Unlock()
	busy := m.holds || m.going
	r := report{Busy: h.busy || busy, Collects: h.collects || busy, Fill: h.fill}
	mine := m.wishLocked(st, h)
	switch {
	case q.Since == 0:
	case r.Busy:
		r.Why = "it has the turn"
	case mine.Since != 0 && mine.before(st.ID, q.wish, q.From):
		r.Why = "it comes first"
	case q.Last && h.fill > yieldFill && !st.leads():
		r.Why = "it collects before the leader does"
		m.hurryLocked(&m.hurried, (*gcgate.Gate).Collect)
	default:
		r.Go = true
		m.promised++
	}
	if q.WithoutTurn && st.yieldsTo(q.From) {
		m.letGo = true
	}
	if q.After && !r.Busy && h.fill > yieldFill && !st.leads() {
		m.hurryLocked(&m.hurriedWithoutTurn, (*gcgate.Gate).CollectWithoutTurn)
	}
	return r
}

// mu is held.
func (m *Member) wishLocked(st Status, h heap) wish {
	if m.wanted.IsZero() || time.Since(m.tried) > wantFor || m.wantedAt != h.collected {
		return wish{}
	}
	return wish{Since: m.wanted.UnixNano(), Last: st.leads() && !h.pressed}
}

// hurryLocked has this member collect now. mu is held.
func (m *Member) hurryLocked(hurried *bool, collect func(*gcgate.Gate, context.Context) error) {
	g := m.gate.Load()
	if g == nil || *hurried || m.ctx.Err() != nil {
		return
	}
	*hurried = true
	m.stats.Hurried++
	m.running.Go(func() {
		ctx, cancel := context.WithTimeout(m.ctx, silentFor)
		defer cancel()
		if h := m.readHeap(); !h.busy && h.fill > yieldFill { // it may have begun by itself
			err := collect(g, ctx)
			if errors.Is(err, gcgate.ErrStopped) {
				m.gate.CompareAndSwap(g, nil)
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		*hurried = false
	})
}

type answered struct {
	voter  Voter
	report report
	took   time.Duration
	err    error
}

// askAll asks the other voters at once, each for within, or for unsteady if it did not answer
// lately.
func (m *Member) askAll(caller context.Context, within, unsteady time.Duration, q question, st Status) []answered {
	asked, err := json.Marshal(q)
	var all []answered
	for _, v := range st.Voters {
		if v.ID != st.ID {
			all = append(all, answered{voter: v, err: err})
		}
	}
	var asking sync.WaitGroup
	for i := range all {
		a := &all[i]
		asking.Go(func() {
			if a.err != nil {
				return
			}
			var text []byte
			bound := within
			if !m.isSteady(a.voter.ID) {
				bound = unsteady
			}
			ctx, cancel := context.WithTimeout(caller, bound)
			defer cancel()
			begin := time.Now()
			if text, a.err = m.options.Ask(ctx, a.voter.ID, asked); a.err == nil {
				a.err = json.Unmarshal(text, &a.report)
			}
			a.took = time.Since(begin)
		})
	}
	asking.Wait()
	if caller.Err() != nil {
		return all // which says nothing of the members
	}
	for _, a := range all {
		m.heard(a)
	}
	return all
}

// heard notes since when a member is silent.
func (m *Member) heard(a answered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, log := a.voter.ID, m.log()
	o := m.others[id]
	if a.err == nil || errors.Is(a.err, ErrGone) {
		if o != nil {
			o.outage.Over(log, "raftgate: the member answers again", "member", id)
			o.silent, o.ignored = time.Time{}, false
		}
		return
	}
	if o == nil {
		o = &other{}
		m.others[id] = o
	}
	now := time.Now()
	if o.silent.IsZero() || now.Sub(o.stalled) > wantFor {
		o.silent = now
	}
	o.stalled = now
	if now.Sub(o.silent) >= silentFor && !o.ignored {
		o.ignored = true
		o.outage.Began(log, "raftgate: a member does not answer; it has no say in whose turn it is until it does",
			"member", id, "error", a.err, "fix", "start it, and have it serve what Options.Ask asks")
	}
}

func (m *Member) isSteady(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.others[id]
	return o == nil || time.Since(o.stalled) > steadyAfter
}

func (m *Member) hasSay(a answered) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.others[a.voter.ID]
	return !errors.Is(a.err, ErrGone) && (o == nil || !o.ignored)
}

const (
	maxMessage  = 4 << 10 // bytes
	idleConns   = 4       // to one member
	idleTimeout = 10 * time.Minute
)

// AskHTTP returns an [Options].Ask that posts to the URL at which a [Member] is served. A nil
// client means a new one.
func AskHTTP(
	client *http.Client, url func(member string) string,
) func(context.Context, string, []byte) ([]byte, error) {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleTimeout}}
	}
	return func(ctx context.Context, member string, question []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url(member), bytes.NewReader(question))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("raftgate: %s answers %s: serve its Member there", url(member), resp.Status)
		}
		return answer, err
	}
}

// ServeHTTP answers the questions of [AskHTTP]. Serve it where only members can reach it, because a
// question can have this process collect.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "members ask here, by POST", http.StatusMethodNotAllowed)
		return
	}
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var answer []byte
	if err == nil {
		answer, err = m.Answer(question)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}
