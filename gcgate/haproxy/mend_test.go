package haproxy

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// TestLeftBehind looks at histories of a backend with the own server a; a letter stands for a
// server that is drained at a look, a capital one for one in maintenance too. It is about who is
// put back at each look.
func TestLeftBehind(t *testing.T) {
	const after = 3 * mendLook
	again := int(mendAgain/mendLook) - 1 // looks without a word
	for _, tt := range []struct {
		name        string
		looks, want string // separated by spaces; "-" for none
	}{
		{"never", "- - - - - -", "- - - - - -"},
		{"a collection", "b b b - - -", "- - - - - -"},
		{"left behind", "b b b b - -", "- - - b - -"},
		{"two", "b bc bc bc c c", "- - - b c -"},
		{"two collections", "b b b - b b b", "- - - - - - -"},
		{"the own one", "a a a a a a", "- - - - - -"},
		{"maintenance", "b b b B B B", "- - - - - -"},
		{"maintenance ends", "B B B B b b b b", "- - - - - - - b"},
		{"a process that collects for longer", "b b b b b b - b b b b", "- - - b - - - - - - b"},
		{"for very long", strings.Repeat("b ", again+6), "- - - b " + strings.Repeat("- ", again) + "b -"},
	} {
		m := mender{own: "a", drained: make(map[string]*drainedServer)}
		now := time.Unix(0, 0)
		var got []string
		for look := range strings.FieldsSeq(tt.looks) {
			servers := []server{
				{name: "a", op: 2, weight: 1},
				{name: "b", op: 2, weight: 1},
				{name: "c", op: 2, weight: 1},
			}
			for i := range servers {
				if strings.Contains(look, servers[i].name) {
					servers[i].admin |= forcedDrain
				}
				if strings.Contains(look, strings.ToUpper(servers[i].name)) {
					servers[i].admin |= forcedDrain | forcedMaint
				}
			}
			names := strings.Join(m.leftBehind(now, servers, after), "")
			if names == "" {
				names = "-"
			}
			got = append(got, names)
			now = now.Add(mendLook)
		}
		if want := strings.Fields(tt.want); !slices.Equal(got, want) {
			t.Errorf("%s: at %s\ngot  %s\nwant %s", tt.name, tt.looks, got, want)
		}
	}
}

// TestWatchPutsBack runs a gate for server a beside b, which was left drained. The log is the
// gate's.
func TestWatchPutsBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		edit  func(*RuntimeAPI, *fakeHAProxy)
		back  bool
		say   string
		wants int // changes of state
	}{
		{"left behind", func(*RuntimeAPI, *fakeHAProxy) {}, true, "killed or drains for unusually long", 1},
		{
			"sooner", func(h *RuntimeAPI, _ *fakeHAProxy) { h.MendAfter = time.Millisecond }, true,
			"drained_for=", 1,
		},
		{"not admin", func(_ *RuntimeAPI, f *fakeHAProxy) { f.level = "operator" }, false, "level admin", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHAProxy{
				servers: []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, admin: drained, weight: 1}},
				level:   "admin",
			}
			said := make(chan string, 100)
			h := &RuntimeAPI{Addr: serveFake(t, "tcp", "127.0.0.1:0", f.answer), Backend: "be", Server: "a"}
			tt.edit(h, f)
			heap := gcgatetest.NewHeap()
			heap.Rate = 1 // it never collects
			g, err := gcgate.Start(t.Context(), gcgate.Options{
				Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{h},
				Turns:     gcgate.FileTurns{Path: t.TempDir() + "/turn"},
				Collector: heap, Logger: slog.New(slog.NewTextHandler(lines(said), nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := g.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			for line := range said { // only a hang ends it otherwise
				if strings.Contains(line, tt.say) && strings.Contains(line, "be/b") {
					break
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if !f.servers[1].isDrained() != tt.back || len(f.sets) != tt.wants {
				t.Errorf("servers %v, set %q", f.servers, f.sets)
			}
		})
	}
}

// TestWatchPutsNothingBackWhileTheTurnIsHeld: a replica that is stopped while it collects would get
// requests.
func TestWatchPutsNothingBackWhileTheTurnIsHeld(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	f := &fakeHAProxy{level: "admin"}
	f.servers = []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, admin: drained, weight: 1}}
	var looks atomic.Int32
	answer := func(line string) string {
		looks.Add(1)
		return f.answer(line)
	}
	h := &RuntimeAPI{Backend: "be", Server: "a", MendAfter: time.Millisecond}
	h.Addr = serveFake(t, "tcp", "127.0.0.1:0", answer)
	turns := gcgate.FileTurns{Path: t.TempDir() + "/turn"}
	held, err := turns.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	heap := gcgatetest.NewHeap()
	heap.Rate = 1 // it never collects
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{h}, Turns: turns,
		Collector: heap, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	sets := func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.Join(f.sets, ",")
	}
	for looks.Load() < 12 { // three would do without the turn
		time.Sleep(10 * time.Millisecond)
	}
	if got := sets(); got != "" {
		t.Errorf("it sets %q while another has the turn", got)
	}
	held.Release(t.Context())
	for sets() != "b ready" { // only a hang ends it otherwise
		time.Sleep(10 * time.Millisecond)
	}
}

// lines hands over what is written to it.
type lines chan<- string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

func TestMendAfter(t *testing.T) {
	const expected = 300 * time.Millisecond
	for _, tt := range []struct {
		set, want time.Duration
		refused   bool
	}{
		{0, 2800 * time.Millisecond, false},
		{time.Minute, time.Minute + expected, false},
		{-1, 0, true},
		{2 * time.Hour, 0, true},
	} {
		h := &RuntimeAPI{Addr: "/run/haproxy.sock", Backend: "be", Server: "a", MendAfter: tt.set}
		if err := h.Validate(); (err != nil) != tt.refused || err != nil &&
			!strings.Contains(err.Error(), "MendAfter") {
			t.Errorf("%v: error %v, refused: want %v", tt.set, err, tt.refused)
		}
		if got := h.mendAfter(expected); !tt.refused && got != tt.want {
			t.Errorf("%v: puts a server back after %v, want %v", tt.set, got, tt.want)
		}
	}
}

// TestNothingIsKnownOfTheTimeBetween looks that are far apart: the server may have been back
// in that time, and collect again.
func TestNothingIsKnownOfTheTimeBetween(t *testing.T) {
	m := mender{own: "a", drained: make(map[string]*drainedServer)}
	servers := []server{{name: "a"}, {name: "b", admin: forcedDrain}}
	now := time.Now()
	for _, s := range []struct {
		after time.Duration
		due   bool
	}{{0, false}, {3 * time.Second, false}, {time.Second, false}, {time.Second, false}, {time.Second, true}} {
		now = now.Add(s.after)
		if names := m.leftBehind(now, servers, 2600*time.Millisecond); (names != nil) != s.due {
			t.Errorf("%v later: %v, want one: %v", s.after, names, s.due)
		}
	}
}
