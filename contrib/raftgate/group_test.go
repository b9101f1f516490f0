package raftgate_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

// group is a Raft group without a log.
type group struct {
	t       testing.TB
	ids     []string
	members map[string]*member

	mu        sync.Mutex
	leader    string              // guarded by mu
	behind    map[string]uint64   // guarded by mu
	stalls    map[string]bool     // guarded by mu
	gone      map[string]bool     // members whose process has ended; guarded by mu
	frozen    map[string]bool     // successors that stall when told; guarded by mu
	transfers []string            // who took over, in order; guarded by mu
	tried     []string            // transfers to; guarded by mu
	away      map[string]struct{} // who collects; guarded by mu
	most      int                 // who did so at once; guarded by mu
	asked     func()              // after each answer; guarded by mu
	order     []string            // who began to collect; guarded by mu
	old       string              // a member of before question.After; does not change
	ledBy     []string            // who led then; guarded by mu
}

// member implements raftgate.Raft.
type member struct {
	*raftgate.Member
	group *group
	id    string
	heap  *gcgatetest.Heap
	gate  *gcgate.Gate
}

const (
	roundTrip    = time.Millisecond
	transferTime = 2 * time.Millisecond
)

// newGroup returns a group without gates, led by the first one.
func newGroup(t testing.TB, ids ...string) *group {
	g := &group{
		t: t, ids: ids, leader: ids[0], members: map[string]*member{}, behind: map[string]uint64{},
		stalls: map[string]bool{}, gone: map[string]bool{}, frozen: map[string]bool{}, away: map[string]struct{}{},
	}
	for _, id := range ids {
		m := &member{group: g, id: id}
		var err error
		m.Member, err = raftgate.New(raftgate.Options{Raft: m, Ask: g.ask})
		if err != nil {
			t.Fatal(err)
		}
		g.members[id] = m
		t.Cleanup(m.Close)
	}
	return g
}

// start starts the gates. set may change a heap and options.
func (g *group) start(set func(*member, *gcgate.Options)) {
	for _, id := range g.ids {
		m := g.members[id]
		m.heap = gcgatetest.NewHeap()
		o := gcgate.Options{
			Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{m.Member}, Turns: m.Member, Collector: m.heap,
			Logger: quiet, OnEvent: m.event, Period: -1,
			IdleRatio: 2,
		}
		if set != nil {
			set(m, &o)
		}
		var err error
		if m.gate, err = gcgate.Start(context.Background(), o); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g *group) stop() {
	for _, id := range g.ids {
		if err := g.members[id].gate.Stop(context.Background()); err != nil {
			g.t.Error(err)
		}
	}
	time.Sleep(time.Second) // a collection may be running
}

func (m *member) event(e gcgate.Event) {
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.State != gcgate.StateCollecting {
		delete(g.away, m.id)
		return
	}
	g.away[m.id] = struct{}{}
	g.most = max(g.most, len(g.away))
	g.order = append(g.order, m.id)
	g.ledBy = append(g.ledBy, g.leader)
}

func (g *group) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// miss has a member ask while another one does not answer.
func (g *group) miss(id, silent string) {
	g.t.Helper()
	g.set(func() { g.stalls[silent] = true })
	if _, err := g.members[id].TryAcquire(context.Background()); !errors.Is(err, gcgate.ErrHeld) {
		g.t.Fatalf("error %v, want ErrHeld: %s may collect", err, silent)
	}
	g.set(func() { g.stalls[silent] = false })
}

func (g *group) ask(ctx context.Context, id string, question []byte) ([]byte, error) {
	g.mu.Lock()
	gone, stalls := g.gone[id], g.stalls[id]
	g.mu.Unlock()
	if gone {
		return nil, raftgate.ErrGone
	}
	if stalls {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if id == g.old {
		question = bytes.ReplaceAll(question, []byte(`"after":true`), []byte(`"of_later":true`))
	}
	time.Sleep(roundTrip / 2)
	answer, err := g.members[id].Answer(question)
	time.Sleep(roundTrip / 2)
	g.mu.Lock()
	asked := g.asked
	g.mu.Unlock()
	if asked != nil {
		asked()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, err
}

func (m *member) Status() raftgate.Status {
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	s := raftgate.Status{ID: m.id, Leader: g.leader}
	for _, id := range g.ids {
		s.Voters = append(s.Voters, raftgate.Voter{ID: id, Behind: g.behind[id]})
	}
	return s
}

var errModel = errors.New("the successor did not take over")

func (m *member) Transfer(ctx context.Context, to string) error {
	g := m.group
	g.set(func() { g.tried = append(g.tried, to) })
	g.mu.Lock()
	frozen := g.frozen[to]
	g.mu.Unlock()
	if frozen {
		<-ctx.Done()
		return errModel
	}
	select {
	case <-time.After(transferTime):
	case <-ctx.Done():
		return errModel
	}
	g.set(func() {
		g.leader = to
		g.transfers = append(g.transfers, to)
	})
	return nil
}

func TestHTTP(t *testing.T) {
	g := newGroup(t, "a", "b")
	server := httptest.NewServer(g.members["b"])
	client := server.Client()
	ask := raftgate.AskHTTP(client, func(id string) string { return server.URL + "/" + id })
	answer, err := ask(t.Context(), "b", []byte(`{"from":"a","since":1}`))
	if err != nil || !strings.Contains(string(answer), `"go":true`) {
		t.Errorf("answer %s, %v", answer, err)
	}
	if _, err := ask(t.Context(), "b", []byte(`{`)); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("half a question: %v", err)
	}
	if _, err := ask(t.Context(), "b", make([]byte, 5000)); err == nil {
		t.Error("a question without end was answered")
	}
	if resp, err := client.Get(server.URL); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	server.Close()
	if _, err := ask(t.Context(), "b", nil); !errors.Is(err, raftgate.ErrGone) {
		t.Errorf("nobody listens: %v, want ErrGone", err)
	}
}
