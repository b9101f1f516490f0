package haproxy

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// The gate looks for these by type.
var (
	_ gcgate.Signal    = (*RuntimeAPI)(nil)
	_ gcgate.Checker   = (*RuntimeAPI)(nil)
	_ gcgate.Explainer = (*RuntimeAPI)(nil)
	_ gcgate.Validator = (*RuntimeAPI)(nil)
	_ gcgate.Watcher   = (*RuntimeAPI)(nil)
)

const (
	drained = forcedDrain
	maint   = forcedMaint
)

func TestRuntimeAPIChangesOnlyWhatIsItsOwn(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	up := func(admin uint64) server { return server{name: "a", op: 2, admin: admin, weight: 1} }
	other := server{name: "b", op: 2, weight: 1}
	withOther := func(op, admin, weight uint64) []server {
		return []server{up(0), {name: "b", op: op, admin: admin, weight: weight}}
	}
	twice := func(servers ...server) []server { // with backups, which have no check
		for i := range servers {
			s := &servers[i]
			s.addr = "127.0.0.1:" + strconv.Itoa(8081+i)
			servers = append(servers, server{name: s.name + "-anyway", op: 2, weight: 1, addr: s.addr})
		}
		return servers
	}
	tests := []struct {
		name         string
		servers      []server
		drain, ready error
		sets         string
	}{
		{"up", []server{up(0), other}, nil, nil, "a drain,a ready"},
		{"drained by one that crashed", []server{up(drained), other}, nil, nil, "a ready"},
		{"disabled in the configuration, then enabled", []server{up(0x04), other}, nil, nil, "a drain,a ready"},
		{"down by its check", []server{{name: "a", op: 0, weight: 1}, other}, nil, nil, "a drain,a ready"},
		{"the operator's maint", []server{up(maint), other}, nil, nil, ""},
		{"the operator's maint, without another", []server{up(maint)}, nil, nil, ""},
		{"the only server", []server{up(0)}, ErrLastServer, nil, ""},
		{"the other is down", withOther(0, 0, 1), ErrLastServer, nil, ""},
		{"the other stops", withOther(3, 0, 1), ErrLastServer, nil, ""},
		{"the other is in maint", withOther(2, maint, 1), ErrLastServer, nil, ""},
		{"the other is drained", withOther(2, drained, 1), ErrLastServer, nil, ""},
		{"the other's name does not resolve", withOther(2, 0x20, 1), ErrLastServer, nil, ""},
		{"the other has weight 0", withOther(2, 0, 0), ErrLastServer, nil, ""},
		{"the other starts", withOther(1, 0, 1), nil, nil, "a drain,a ready"},
		{
			"drained while the other went down",
			[]server{up(drained), {name: "b", op: 0, weight: 1}},
			ErrLastServer, nil, "a ready",
		},
		{"both are their own backups", twice(up(0), other), nil, nil, "a drain,a ready"},
		{
			"both are their own backups, and the other is down", twice(up(0), server{name: "b", weight: 1}),
			ErrLastServer, nil, "",
		},
		{"not there", []server{other}, fs.ErrNotExist, fs.ErrNotExist, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			leaks.Test(t)
			f := &fakeHAProxy{servers: slices.Clone(tt.servers), level: "admin"}
			h := &RuntimeAPI{Addr: serveFake(t, "tcp", "127.0.0.1:0", f.answer), Backend: "be", Server: "a"}
			for range 2 { // both must be idempotent
				if err := h.Drain(t.Context(), time.Second); !errors.Is(err, tt.drain) {
					t.Errorf("Drain: %v, want %v", err, tt.drain)
				}
			}
			for range 2 {
				if err := h.Ready(t.Context()); !errors.Is(err, tt.ready) {
					t.Errorf("Ready: %v, want %v", err, tt.ready)
				}
			}
			if got := strings.Join(f.sets, ","); got != tt.sets {
				t.Errorf("set %q, want %q", got, tt.sets)
			}
		})
	}
}

func TestRuntimeAPIUndoesADrainThatRacedWithAnother(t *testing.T) {
	f := &fakeHAProxy{servers: []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}, level: "admin"}
	f.after = func() { f.servers[1].admin = drained; f.after = nil }
	h := &RuntimeAPI{Addr: serveFake(t, "tcp", "127.0.0.1:0", f.answer), Backend: "be", Server: "a"}
	if err := h.Drain(t.Context(), time.Second); !errors.Is(err, ErrLastServer) {
		t.Errorf("got %v, want %v", err, ErrLastServer)
	}
	if got := strings.Join(f.sets, ","); got != "a drain,a ready" {
		t.Errorf("set %q, want the drain undone", got)
	}
}

func TestRuntimeAPIErrorsSayWhatToDo(t *testing.T) {
	two := []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}
	is := func(text string) func(string) string { return func(string) string { return text } }
	tests := []struct {
		name    string
		answer  func(string) string // nil: nothing listens
		backend string
		is      error
		say     string
	}{
		{"nothing there", nil, "be", nil, "cannot connect"},
		{
			"level operator", (&fakeHAProxy{servers: two, level: "operator"}).answer, "be", fs.ErrPermission,
			`write "level admin"`,
		},
		{"no backend", (&fakeHAProxy{servers: two, level: "admin"}).answer, "bee", fs.ErrNotExist, "no such backend"},
		{"no server", (&fakeHAProxy{servers: two[1:], level: "admin"}).answer, "be", fs.ErrNotExist, "no such server"},
		{"severity", is("[3]:Permission denied\n\n" + table("be", two...)), "be", fs.ErrPermission, "level admin"},
		{
			"stuck", (&fakeHAProxy{servers: two, level: "admin", stuck: true}).answer, "be",
			errNotConfirmed, "something else",
		},
		{"empty", is(""), "be", errNotConfirmed, "no table"},
		{"not HAProxy", is("HTTP/1.1 400 Bad Request\r\n\r\n"), "be", errNotConfirmed, `"HTTP/1.1 400 Bad Request"`},
		{"cut short", is(strings.TrimSuffix(table("be", two...), "\n")), "be", errNotConfirmed, "cut short"},
		{"endless", is(strings.Repeat("x", maxAnswerBytes+1)), "be", nil, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			leaks.Test(t)
			addr := "127.0.0.1:1" // nothing listens there; a port that was free a moment ago may be in use by now
			if tt.answer != nil {
				addr = serveFake(t, "tcp", "127.0.0.1:0", tt.answer)
			}
			h := &RuntimeAPI{Addr: addr, Backend: tt.backend, Server: "a"}
			err := h.Drain(t.Context(), time.Second)
			if err == nil || !strings.Contains(err.Error(), tt.say) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %q and %v", err, tt.say, tt.is)
			}
			if name := h.Backend + "/a at " + addr; err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name %s", err, name)
			}
		})
	}
}

func TestRuntimeAPICheck(t *testing.T) {
	two := []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}
	tests := []struct {
		name    string
		servers []server
		level   string
		backend string
		say     string // "" for nil
		sets    string
	}{
		{"well", two, "admin", "be", "", ""},
		{"level user", two, "user", "be", "level admin", ""},
		{"no backend", two, "admin", "bee", "no such backend", ""},
		{"no server", two[1:], "admin", "be", "no such server", ""},
		{"no other server", two[:1], "admin", "be", "503", ""},
		{"left drained", []server{{name: "a", op: 2, admin: drained, weight: 1}, two[1]}, "admin", "be", "", ""},
		{"left drained, and the other is down", []server{
			{name: "a", op: 2, admin: drained, weight: 1},
			{name: "b", op: 0, weight: 1},
		}, "admin", "be", "503", "a ready"},
		{"maint", []server{{name: "a", op: 0, admin: maint, weight: 1}, two[1]}, "admin", "be", "in maintenance", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeHAProxy{servers: slices.Clone(tt.servers), level: tt.level}
			var c gcgate.Checker = &RuntimeAPI{
				Addr:    serveFake(t, "tcp", "127.0.0.1:0", f.answer),
				Backend: tt.backend, Server: "a",
			}
			err := c.Check(t.Context())
			if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
				t.Errorf("got %v, want %q", err, tt.say)
			}
			if got := strings.Join(f.sets, ","); got != tt.sets {
				t.Errorf("set %q, want %q", got, tt.sets)
			}
		})
	}
}

func TestRuntimeAPIHoldsToTheContext(t *testing.T) {
	leaks.Test(t)
	silence := make(chan struct{})
	addr := serveFake(t, "tcp", "127.0.0.1:0", func(string) string { <-silence; return "" })
	defer close(silence)
	h := &RuntimeAPI{Addr: addr, Backend: "be", Server: "a"}
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := h.Ready(deadline); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if err := h.Drain(canceled, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it canceled", err)
	}
}

func TestRuntimeAPIOverUnixSocket(t *testing.T) {
	f := &fakeHAProxy{servers: []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}, level: "admin"}
	path := serveFake(t, "unix", filepath.Join(t.TempDir(), "s"), f.answer)
	for _, addr := range []string{path, "unix:" + path} {
		h := &RuntimeAPI{Addr: addr, Backend: "be", Server: "a"}
		if err := errors.Join(h.Check(t.Context()), h.Drain(t.Context(), 0), h.Ready(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// TestGivenUpIsNotCarriedOutLater: a HAProxy that is stopped may carry a command out that was
// given up, after it has said that the server is not drained: Ready waits for that.
func TestGivenUpIsNotCarriedOutLater(t *testing.T) {
	leaks.Test(t)
	f := &fakeHAProxy{servers: []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}, level: "admin"}
	runs, asked := make(chan struct{}), make(chan struct{}, 1)
	h := &RuntimeAPI{Backend: "be", Server: "a"}
	h.Addr = serveFake(t, "tcp", "127.0.0.1:0", func(line string) string {
		if strings.Contains(line, "state drain") {
			asked <- struct{}{}
			<-runs
		}
		return f.answer(line)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if err := h.Drain(ctx, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain: %v", err)
	}
	early, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := h.Ready(early); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready before the drain was carried out: %v", err)
	}
	close(runs)
	if err := h.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if _, me, err := h.look(t.Context(), ""); err != nil || me.isDrained() {
		t.Errorf("%+v, %v", me, err)
	}
}

// TestDrainThatCannotHaveReachedHAProxy differs from one whose answer was lost.
func TestDrainThatCannotHaveReachedHAProxy(t *testing.T) {
	two := []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}
	lost := &fakeHAProxy{servers: two, level: "admin"}
	for _, tt := range []struct {
		name      string
		answer    func(string) string // nil: nothing listens
		backend   string
		unreached bool
	}{
		{"nothing there", nil, "be", true},
		{"level operator", (&fakeHAProxy{servers: two, level: "operator"}).answer, "be", true},
		{"no backend", (&fakeHAProxy{servers: two, level: "admin"}).answer, "bee", true},
		{"no server", (&fakeHAProxy{servers: two[1:], level: "admin"}).answer, "be", true},
		{"no HAProxy", func(string) string { return "" }, "be", true},
		{"the answer is lost", func(line string) string {
			answer := lost.answer(line)
			if strings.HasPrefix(line, setCommand) {
				return ""
			}
			return answer
		}, "be", false},
	} {
		h := &RuntimeAPI{Addr: "127.0.0.1:1", Backend: tt.backend, Server: "a"}
		if tt.answer != nil {
			h.Addr = serveFake(t, "tcp", "127.0.0.1:0", tt.answer)
		}
		if err := h.Drain(t.Context(), time.Second); err == nil || errors.Is(err, gcgate.ErrUnreached) != tt.unreached {
			t.Errorf("%s: %v: unreached: %v, want %v", tt.name, err, errors.Is(err, gcgate.ErrUnreached), tt.unreached)
		}
	}
}

// TestStartRefusesWhatCannotBeAnAddress, and starts where HAProxy does not answer.
func TestStartRefusesWhatCannotBeAnAddress(t *testing.T) {
	for _, tt := range []struct {
		signal gcgate.Signal
		says   string // "": it starts
	}{
		{&RuntimeAPI{Backend: "be", Server: "a"}, "is not the address of a stats socket"},
		{&RuntimeAPI{Addr: "unix:", Backend: "be", Server: "a"}, "has no path"},
		{&RuntimeAPI{Addr: "127.0.0.1:1", Server: "a"}, "is not a name of a backend or server"},
		{&RuntimeAPI{Addr: "127.0.0.1:1", Backend: "be", Server: "a"}, ""},
		{&RuntimeAPI{Addr: "unix:" + t.TempDir() + "/missing", Backend: "be", Server: "a"}, ""},
	} {
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Signals: []gcgate.Signal{tt.signal}, Turns: &oneTurn{},
			Collector: gcgatetest.NewHeap(), Logger: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			g.Stop(t.Context())
		}
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v, want %q", tt.signal, err, tt.says)
		}
	}
}

// oneTurn is a turn for gates of this process.
type oneTurn struct{ mu sync.Mutex }

func (o *oneTurn) TryAcquire(context.Context) (gcgate.Lease, error) {
	if !o.mu.TryLock() {
		return nil, gcgate.ErrHeld
	}
	return o, nil
}

func (o *oneTurn) Lost() <-chan struct{} { return nil }

func (o *oneTurn) Release(context.Context) error {
	o.mu.Unlock()
	return nil
}

// TestWrongNameHoldsNothingUp: a replica whose server's name is wrong, or one of whose HAProxy
// processes is not there, leaves the turn to the others.
func TestWrongNameHoldsNothingUp(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	two := &fakeHAProxy{servers: []server{{name: "a", op: 2, weight: 1}, {name: "b", op: 2, weight: 1}}, level: "admin"}
	addr := serveFake(t, "tcp", "127.0.0.1:0", two.answer)
	at := func(addr, server string) *RuntimeAPI {
		return &RuntimeAPI{Addr: addr, Backend: "be", Server: server, MendAfter: time.Hour}
	}
	for _, tt := range []struct {
		name string
		a    []gcgate.Signal
	}{
		{"wrong name", []gcgate.Signal{at(addr, "wrong")}},
		{"the second is not there", []gcgate.Signal{at(addr, "a"), at("127.0.0.1:1", "a")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := &oneTurn{}
			gate := func(signals []gcgate.Signal) *gcgate.Gate {
				heap := gcgatetest.NewHeap()
				heap.Rate = 0 // it collects when it is asked to
				g, err := gcgate.Start(t.Context(), gcgate.Options{
					Signals: signals, Turns: turn, Collector: heap, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
			a, b := gate(tt.a), gate([]gcgate.Signal{at(addr, "b")})
			defer b.Stop(t.Context())
			defer a.Stop(t.Context())
			for range 2 {
				for _, g := range []*gcgate.Gate{a, b} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := g.Collect(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			if s := b.Stats(); s.WithoutTurn > 0 {
				t.Errorf("the other replica collected without the turn: %+v", s)
			}
		})
	}
}
