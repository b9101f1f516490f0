package raftgate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

func TestOptions(t *testing.T) {
	ask := raftgate.AskHTTP(nil, func(string) string { return "" })
	for _, tt := range []struct {
		field string
		o     raftgate.Options
	}{
		{"Raft", raftgate.Options{Ask: ask}},
		{"Ask", raftgate.Options{Raft: &member{}}},
		{"TransferTimeout", raftgate.Options{Raft: &member{}, Ask: ask, TransferTimeout: -1}},
		{"TransferTimeout", raftgate.Options{Raft: &member{}, Ask: ask, TransferTimeout: time.Minute}},
	} {
		var oe *evenkeel.OptionError
		if _, err := raftgate.New(tt.o); !errors.As(err, &oe) || oe.Option != tt.field {
			t.Errorf("%+v: error %v, want one about %s", tt.o, err, tt.field)
		}
	}
}

// TestRounds fills heaps in step. All members collect as often, never two at once and none while it
// leads, with one transfer for three collections.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.start(nil)
		time.Sleep(60 * time.Second)
		g.stop()
		if g.most != 1 {
			t.Errorf("%d collected at once", g.most)
		}
		collections, counts := len(g.order), map[string]int{}
		if collections < 30 || len(g.transfers) > collections/3+1 || len(g.transfers) < collections/3-2 {
			t.Errorf("%d transfers for %d collections, want one for three", len(g.transfers), collections)
		}
		for i, id := range g.order {
			if g.ledBy[i] == id {
				t.Errorf("collection %d: %s leads while it collects", i, id)
			}
			counts[id]++
		}
		for _, id := range g.ids {
			if counts[id] < collections/4 {
				t.Errorf("%s: %d of %d collections", id, counts[id], collections)
			}
			if s := g.members[id].gate.Stats(); s.WithoutTurn != 0 || s.Escaped != 0 {
				t.Errorf("%s: %d collections without a turn, %d escaped", id, s.WithoutTurn, s.Escaped)
			}
		}
	})
}

// TestFollowersServeReads tests that reads in a follower do not count as ignoring a drain.
func TestFollowersServeReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		// 3.75 s from trigger to hard limit.
		g.start(func(m *member, _ *gcgate.Options) { m.heap.Rate = 20 << 20 })
		ctx, cancel := context.WithCancel(t.Context())
		var reads sync.WaitGroup
		for _, id := range g.ids {
			reads.Go(func() {
				for ctx.Err() == nil {
					g.members[id].gate.Enter().Exit()
					time.Sleep(time.Millisecond)
				}
			})
		}
		time.Sleep(60 * time.Second)
		cancel()
		reads.Wait()
		for _, id := range g.ids {
			s := g.members[id].gate.Stats()
			drained := s.Phases[gcgate.StateDraining]
			if drained.Count < 5 || drained.Max > 105*time.Millisecond || s.IgnoredDrains > 0 || s.WithoutTurn > 0 {
				t.Errorf("%s: drained %+v, %d ignored, %d without a turn", id, drained, s.IgnoredDrains, s.WithoutTurn)
			}
		}
		g.stop()
	})
}

// TestOnlyTheLeaderAllocates tests that followers with empty heaps do not collect.
func TestOnlyTheLeaderAllocates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.start(func(m *member, _ *gcgate.Options) {
			if m.id != "a" {
				m.heap.Rate = 0
			}
		})
		for {
			time.Sleep(10 * time.Millisecond)
			g.mu.Lock()
			n := len(g.order)
			g.mu.Unlock()
			if n > 0 {
				break
			}
		}
		g.stop()
		if !slices.Equal(g.order, []string{"a"}) || len(g.transfers) != 1 {
			t.Errorf("collected: %v, took over: %v", g.order, g.transfers)
		}
	})
}

// TestSuccessorStalls tests that a member that does not answer is not chosen, and that one that
// stalls is given up.
func TestSuccessorStalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stall  func(*group)
		tried  []string
		longer time.Duration
	}{
		{"does not answer", func(g *group) { g.stalls["b"] = true }, []string{"c"}, 30 * time.Millisecond},
		{"stalls when told", func(g *group) { g.frozen["b"] = true }, []string{"b", "c"}, 15 * time.Millisecond},
		{"is behind", func(g *group) { g.behind["b"] = 1000 }, []string{"c"}, 0},
		{"has ended", func(g *group) { g.gone["b"] = true }, []string{"c"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t, "a", "b", "c")
				a := lead(g, "a")
				g.set(func() { tt.stall(g) })
				begin := time.Now()
				if err := a.Drain(t.Context(), time.Second); err != nil {
					t.Error(err)
				}
				if !slices.Equal(g.tried, tt.tried) || g.leader != "c" {
					t.Errorf("tried %v, %s leads", g.tried, g.leader)
				}
				if took := time.Since(begin); took > 2*roundTrip+transferTime+tt.longer {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func lead(g *group, id string) *raftgate.Member {
	m := g.members[id]
	if _, err := m.TryAcquire(context.Background()); err != nil {
		g.t.Fatal(err)
	}
	return m.Member
}

// TestUnsteady tests that a member that stalled lately comes last as a successor.
func TestUnsteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		a := g.members["a"]
		g.miss("a", "b")
		lead(g, "a")
		for _, to := range []string{"c", "b"} {
			if err := a.Drain(t.Context(), time.Second); err != nil || g.leader != to {
				t.Errorf("%s leads, %v, want %s", g.leader, err, to)
			}
			g.set(func() { g.leader = "a" })
			time.Sleep(11 * time.Second)
		}
	})
}

type stopped struct{}

func (stopped) Status() raftgate.Status                { return raftgate.Status{} }
func (stopped) Transfer(context.Context, string) error { return errModel }

func TestStoppedNodeLeadsNobody(t *testing.T) {
	m, err := raftgate.New(raftgate.Options{Raft: stopped{}, Ask: newGroup(t, "a").ask})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Drain(t.Context(), time.Second); err != nil || m.Stats().KeptLeading != 0 {
		t.Errorf("error %v, %+v", err, m.Stats())
	}
}

// TestNobodyTakesOver tests that the gate collects all the same.
func TestNobodyTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.frozen["b"], g.frozen["c"] = true, true
		if err := lead(g, "a").Drain(t.Context(), time.Second); !errors.Is(err, raftgate.ErrNoSuccessor) ||
			!strings.Contains(err.Error(), "b: ") {
			t.Errorf("error %v", err)
		}
		if s := g.members["a"].Stats(); s.GivenUp != 2 || s.KeptLeading != 1 || s.Transfers != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestWithoutTurn tests that a leader hands over to a member that has collected lately, or has one
// collect first.
func TestWithoutTurn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		full   []string
		old    string // does not know question.After
		asked  string
		leader string
	}{
		{"one is empty", []string{"b"}, "", "", "c"},
		{"all are full", []string{"b", "c"}, "", "b", "b"},
		{"all are full, and one does not collect", []string{"b", "c"}, "b", "c", "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t, "a", "b", "c")
				g.old = tt.old
				g.start(func(m *member, o *gcgate.Options) {
					m.heap.Rate, o.Jitter = 0, -1
					if slices.Contains(tt.full, m.id) {
						m.heap.Rate = 60 << 20
					}
				})
				time.Sleep(time.Second) // 60 of 100 MiB
				if err := g.members["a"].Drain(t.Context(), time.Second); err != nil {
					t.Error(err)
				}
				asked := ""
				for _, id := range g.ids {
					if g.members[id].Stats().Hurried > 0 {
						asked += id
					}
				}
				g.stop()
				if g.leader != tt.leader || asked != tt.asked || g.most > 1 {
					t.Errorf("%s leads, %q was asked to collect, want %s and %q", g.leader, asked, tt.leader, tt.asked)
				}
			})
		})
	}
}

type taken struct{}

func (taken) TryAcquire(context.Context) (gcgate.Lease, error) { return nil, gcgate.ErrHeld }

// TestRoundsWithoutTurns fills heaps in step without turns. The members collect one after the
// other, none while it leads.
func TestRoundsWithoutTurns(t *testing.T) {
	for _, tt := range []struct {
		name    string
		members int
		heap    func(*gcgatetest.Heap)
		stalls  bool // one of them hangs
		own     bool // real turns, which one that hangs denies for a while
	}{
		{"three", 3, func(*gcgatetest.Heap) {}, false, false},
		{"two", 2, func(*gcgatetest.Heap) {}, false, false},
		{"long sweeps", 3, func(h *gcgatetest.Heap) { h.Sweep = 50 * time.Millisecond }, false, false},
		{"long marks", 3, func(h *gcgatetest.Heap) { h.Mark = 150 * time.Millisecond }, false, false},
		{"five, long marks", 5, func(h *gcgatetest.Heap) { h.Mark = 150 * time.Millisecond }, false, false},
		{"one hangs", 3, func(*gcgatetest.Heap) {}, true, false},
		{"one hangs, own turns", 3, func(*gcgatetest.Heap) {}, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t, []string{"a", "b", "c", "d", "e"}[:tt.members]...)
				last := g.ids[tt.members-1]
				g.stalls[last] = tt.stalls
				g.start(func(m *member, o *gcgate.Options) {
					if tt.heap(m.heap); !tt.own {
						o.Turns = taken{}
					}
					if m.id == "a" {
						m.heap.Rate += 1 << 20 // the first leader is first at its hard limit
					}
					if tt.stalls && m.id == last {
						m.heap.Rate = 0
					}
				})
				time.Sleep(60 * time.Second)
				g.stop()
				collections := len(g.order)
				most := collections/2 + 2
				if tt.own { // two members wait for the third, so the leader rarely comes last
					most = collections + 1
				}
				if g.most != 1 || collections < 20 || len(g.transfers) > most {
					t.Errorf("%d at once, %d collections, %d transfers: want 1, and %d transfers at most", g.most,
						collections, len(g.transfers), most)
				}
				for i, id := range g.order {
					if g.ledBy[i] == id {
						t.Errorf("collection %d: %s leads while it collects", i, id)
					}
				}
				for _, id := range g.ids {
					if s := g.members[id].gate.Stats(); s.Escaped != 0 || s.WithoutTurn == 0 && !tt.own && !tt.stalls {
						t.Errorf("%s: %d collections without a turn, %d escaped", id, s.WithoutTurn, s.Escaped)
					}
				}
			})
		})
	}
}

// TestOneGoesWithoutTurn tests that one of two that are about to collect waits for the other.
func TestOneGoesWithoutTurn(t *testing.T) {
	for _, between := range []bool{false, true} {
		// B comes after c has gone, or while c looks.
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t, "a", "b", "c")
			drain := func(id string) error {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				return g.members[id].Drain(ctx, time.Second)
			}
			first, second := "c", "b"
			if between {
				first, second = "b", "c"
				g.asked = func() { // c has asked one of them
					g.set(func() { g.asked = nil })
					if err := drain("b"); err != nil {
						t.Error(err)
					}
				}
			} else if err := drain(first); err != nil {
				t.Error(err)
			}
			if err := drain(second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, although %s collects", second, err, first)
			}
			if err := g.members[first].Ready(t.Context()); err != nil {
				t.Error(err)
			}
			if err := drain(second); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWishEndsWithItsCollection tests that a member that has collected without the turn does not
// want it any more.
func TestWishEndsWithItsCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.stalls["c"] = true
		g.start(func(m *member, _ *gcgate.Options) {
			if m.heap.Rate = 0; m.id == "b" {
				m.heap.Rate = 200 << 20
			}
		})
		for b := g.members["b"].gate; b.Stats().WithoutTurn == 0 || b.Stats().State != gcgate.StateServing; {
			time.Sleep(time.Millisecond)
		}
		g.set(func() { g.stalls["c"] = false })
		if l, err := g.members["c"].TryAcquire(t.Context()); err != nil {
			t.Error(err)
		} else {
			l.Release(t.Context())
		}
		g.stop()
	})
}

// TestStandsBack tests that a member without the turn waits for another one's collection, as long
// as its gate waits.
func TestStandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		l, err := g.members["b"].TryAcquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_ = g.members["c"].Drain(ctx, time.Second)
		if took := time.Since(begin); took != 100*time.Millisecond {
			t.Errorf("waited %v, want until the context ends", took)
		}
		time.AfterFunc(50*time.Millisecond, func() { l.Release(context.Background()) })
		begin = time.Now()
		_ = g.members["c"].Drain(t.Context(), time.Second)
		if took := time.Since(begin); took < 50*time.Millisecond || took > 60*time.Millisecond {
			t.Errorf("waited %v, want until the turn was released", took)
		}
	})
}

// TestSilentMember tests that it has no say after a while.
func TestSilentMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.stalls["c"] = true
		begin := time.Now()
		for {
			l, err := g.members["b"].TryAcquire(t.Context())
			if err == nil {
				l.Release(t.Context())
				break
			}
			if !errors.Is(err, gcgate.ErrHeld) || !strings.Contains(err.Error(), "c does not answer") {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it had a say for %v", took)
		}
		g.set(func() { g.stalls["c"] = false })
		if _, err := g.members["b"].TryAcquire(t.Context()); err != nil {
			t.Error(err)
		}
		g.set(func() { g.stalls["c"] = true })
		if _, err := g.members["a"].TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) {
			t.Errorf("error %v, want ErrHeld", err)
		}
		g.set(func() { g.gone["b"], g.gone["c"] = true, true })
		if _, err := g.members["a"].TryAcquire(t.Context()); err != nil {
			t.Errorf("none of the others runs: %v", err)
		}
	})
}

// TestMissesTwoQuestions tests that a pause between two questions restarts the silence.
func TestMissesTwoQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		for range 3 {
			g.miss("b", "c")
			time.Sleep(10 * time.Second)
		}
	})
}

// TestEmptyBeforeSteady tests that a member that has collected is a better successor than one that
// answered.
func TestEmptyBeforeSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		a := g.members["a"]
		g.miss("a", "b")
		lead(g, "a")
		g.start(func(m *member, o *gcgate.Options) {
			m.heap.Rate, o.Jitter = 0, -1
			if m.id == "c" {
				m.heap.Rate = 60 << 20
			}
		})
		time.Sleep(time.Second) // 60 of 100 MiB
		if err := a.Drain(t.Context(), time.Second); err != nil || g.leader != "b" {
			t.Errorf("%s leads, %v", g.leader, err)
		}
		g.stop()
	})
}

// TestStoppedGateIsNotWaitedFor tests that the leader does not wait for a follower without a gate.
func TestStoppedGateIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c")
		g.start(func(m *member, o *gcgate.Options) {
			m.heap.Rate, o.Jitter = 0, -1
			if m.id == "b" {
				m.heap.Rate = 60 << 20
			}
		})
		time.Sleep(time.Second)
		if err := g.members["b"].gate.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		a := g.members["a"]
		if _, err := a.TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) {
			t.Fatalf("error %v: it does not know yet", err)
		}
		synctest.Wait()
		if l, err := a.TryAcquire(t.Context()); err != nil {
			t.Error(err)
		} else if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if n := g.members["b"].Stats().Hurried; n != 1 {
			t.Errorf("it was hurried %d times", n)
		}
		g.stop()
	})
}

// TestAgreement has seven members want the turn while the leadership moves. Two never have it, and
// each gets it.
func TestAgreement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b", "c", "d", "e", "f", "g")
		end := time.Now().Add(5 * time.Second)
		taken := map[string]int{}
		held := 0
		var running sync.WaitGroup
		for i, id := range g.ids {
			running.Go(func() {
				for time.Now().Before(end) {
					l, err := g.members[id].TryAcquire(context.Background())
					if err != nil {
						if !errors.Is(err, gcgate.ErrHeld) {
							t.Error(err)
							return
						}
						time.Sleep(time.Duration(7+i) * time.Millisecond)
						continue
					}
					g.set(func() {
						if held++; held > 1 {
							t.Errorf("%d have the turn", held)
						}
						taken[id]++
						g.leader = g.ids[len(g.order)%len(g.ids)]
						g.order = append(g.order, id)
					})
					time.Sleep(time.Duration(3+i) * time.Millisecond)
					g.set(func() { held-- })
					l.Release(context.Background())
				}
			})
		}
		running.Wait()
		for _, id := range g.ids {
			if taken[id] < len(g.order)/len(g.ids)/3 {
				t.Errorf("%s had the turn %d of %d times", id, taken[id], len(g.order))
			}
		}
	})
}

// TestPromise has the leadership move while a member asks, so that each of two lets the other go
// first. One of them gets the turn.
func TestPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		a, b := g.members["a"], g.members["b"]
		held, err := b.TryAcquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.TryAcquire(t.Context()); !errors.Is(err, gcgate.ErrHeld) { // it wants the turn from now on
			t.Fatal(err)
		}
		held.Release(t.Context())
		var first error
		g.asked = func() { // b has asked a, which leads
			g.set(func() { g.asked, g.leader = nil, "b" })
			_, first = a.TryAcquire(t.Context())
		}
		_, second := b.TryAcquire(t.Context())
		if (first == nil) == (second == nil) {
			t.Errorf("a: %v, b: %v, want one of them refused", first, second)
		}
	})
}

func TestAnswerRefuses(t *testing.T) {
	g := newGroup(t, "a")
	if _, err := g.members["a"].Answer([]byte("{")); err == nil {
		t.Error("half a question was answered")
	}
}
