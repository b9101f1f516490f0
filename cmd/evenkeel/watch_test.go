package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

func TestWatchOnce(t *testing.T) {
	ok := statsServer(t, nil)
	away := statsServer(t, func(_ uint64, s map[string]any) { s["State"] = "collecting"; s["Overlapped"] = 3 })
	waits := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["WithoutTurn"], s["Unheeded"], s["Advice"] = "wanting", 2, 1, "a second replica\x1b[2J would help"
		s["Turn"] = map[string]any{"Turns": 1, "Load": 1.25}
	})
	r := call("watch", "-once", ok.URL, away.URL, waits.URL+"/debug/gate")
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	r.check(t, exitOK, []string{
		"replica state turn heap trigger hard live met a collection collections",
		host(ok.URL) + " serving 381 MiB 67% 572 MiB 787 MiB 286 MiB 0 of 100 1",
		host(away.URL) + " collecting has it", "3 of 100",
		host(waits.URL) + " wanting waits",
		"! " + host(waits.URL) + ": 2 collections went without a turn",
		"1 times requests kept coming", "the load of the turns is 1.25", "a second replica",
	}, nil)
	if strings.Contains(r.stdout, "\x1b") {
		t.Errorf("a replica's text reaches the terminal as it is: %q", r.stdout)
	}
	r = call("watch", "-once", "-json", ok.URL, "127.0.0.1:1")
	r.check(t, exitFailed, nil, []string{"127.0.0.1:1"})
	var look struct {
		Replicas []struct {
			URL, Error string
			Stats      *gateStats
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.stdout), &look); err != nil || len(look.Replicas) != 2 || look.Replicas[0].Stats.Heap != 400e6 || look.Replicas[1].Error == "" || len(look.Warnings) != 1 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	lingers := statsServer(t, func(_ uint64, s map[string]any) { s["Turn"] = map[string]any{"Turns": 1, "Holding": 1} })
	alone := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["Turn"] = "collecting", map[string]any{"Turns": 1, "Holding": 0}
	})
	call("watch", "-once", lingers.URL, alone.URL).check(t, exitOK, []string{host(lingers.URL) + " serving has it", host(alone.URL) + " collecting without"}, nil)
	both := call("watch", "-once", away.URL, away.URL)
	both.check(t, exitOK, []string{"! 2 replicas are away at once, and there is 1 turn"}, nil)
}

// TestWatchOnceInterrupted: a look that was cut short says nothing of the replicas.
func TestWatchOnceInterrupted(t *testing.T) {
	for _, flags := range []string{"-once", "-once -json"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := interrupted(t, ctx, cancel, statsServer(t, nil), append([]string{"watch"}, strings.Fields(flags)...)...)
		r.check(t, exitInterrupted, nil, []string{"evenkeel watch: interrupted"})
		if r.stdout != "" {
			t.Errorf("%s: it prints %s", flags, r.stdout)
		}
	}
}

// TestWatchFollows watches until two collections were told, and ends at the context's.
func TestWatchFollows(t *testing.T) {
	s := statsServer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopAt{text: ": trigger, collected 300 ms", times: 2, stop: cancel}
	a := &app{stdout: out, stderr: io.Discard}
	if code := a.main(ctx, []string{"watch", "-every", "100ms", s.URL}); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, &out.said)
	}
	if !strings.Contains(out.said.String(), "last collections") {
		t.Errorf("it says\n%s", &out.said)
	}
}

// TestWatchCountsFromItsFirstLook: what was last week needs no operator now.
func TestWatchCountsFromItsFirstLook(t *testing.T) {
	at := func(alone, allocated uint64) *gateStats {
		return &gateStats{WithoutTurn: alone, Unheeded: 9, Allocated: allocated}
	}
	w := &watcher{replicas: []*watchedReplica{{host: "a"}}}
	r := w.replicas[0]
	for i, look := range []struct {
		stats *gateStats
		want  string
	}{
		{at(5, 100), ""},
		{at(7, 200), "2 collections went without a turn"},
		{nil, "gone"},
		{at(8, 300), "3 collections went without a turn"},
		{at(4, 50), "4 collections went without a turn"}, // it was started again
		{at(4, 400), "4 collections went without a turn"},
	} {
		r.Stats, r.Error = look.stats, "gone"
		r.remember()
		got := strings.Join(w.warnings(), "; ")
		if !strings.Contains(got, look.want) || look.want == "" && got != "" {
			t.Errorf("look %d: got %q, want %q", i, got, look.want)
		}
	}
	w.once = true
	if got := strings.Join(w.warnings(), "; "); !strings.Contains(got, "4 collections") || !strings.Contains(got, "9 times requests kept coming") {
		t.Errorf("-once says %q", got)
	}
}

// TestWatchSaysWhoHoldsTheTurnUp, also once it is over, and does not blame the number of turns for
// it.
func TestWatchSaysWhoHoldsTheTurnUp(t *testing.T) {
	const peer = "HAProxy be/a at 127.0.0.1:9199: 100% refused"
	one := 1
	holder, waiter := &gateStats{State: "serving"}, &gateStats{State: "wanting", Heap: 584, Trigger: 100, WithoutTurn: 2}
	holder.Turn.Turns, holder.Turn.Holding, holder.Turn.HeldUpBy, holder.Turn.HeldUpFor = 1, &one, peer, 7*time.Second
	waiter.Turn.Turns, waiter.Turn.Holding, waiter.Turn.HeldUpBy, waiter.Turn.HeldUpFor = 1, new(int), "db-1:812", 6*time.Second
	holder.at = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	waiter.at = holder.at
	free := &gateStats{State: "serving", WithoutTurn: 2}
	heldUp := "a has held the turn for 7 s, and no other replica can collect, because a peer does not have it back: " + peer
	for _, c := range []struct {
		name string
		a, b *gateStats
		want []string
	}{
		{"both say so", holder, waiter, []string{
			heldUp, "b has waited for the turn for 6 s, with its heap at 584% of the trigger: db-1:812",
			"b: 2 collections went without a turn: the turn was held up at 15:04:05: " + heldUp,
		}},
		{"the holder is not watched", nil, waiter, []string{"b: 2 collections went without a turn: the turn was held up at 15:04:05: b has waited"}},
		{"nobody is held up", free, free, []string{"b: 2 collections went without a turn: its log says why"}},
	} {
		var pages []*watchedReplica
		for i, s := range []*gateStats{c.a, c.b} {
			pages = append(pages, &watchedReplica{host: string(rune('a' + i)), Stats: s, Error: "gone"})
		}
		w := &watcher{once: true, replicas: pages}
		w.noteHeldUp()
		got := strings.Join(w.warnings(), "\n")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it does not say %q:\n%s", c.name, want, got)
			}
		}
		if strings.Contains(got, "do not suffice") {
			t.Errorf("%s: it blames the turns:\n%s", c.name, got)
		}
		pages[0].Stats, pages[1].Stats = free, free
		w.noteHeldUp()
		if got := strings.Join(w.warnings(), "\n"); c.a == holder && !strings.Contains(got, "the turn was held up at 15:04:05: "+heldUp) {
			t.Errorf("%s: once it is over it says\n%s", c.name, got)
		}
	}
}

// TestWatchNoticesARestart by any counter: while nobody looks, the new process may have served more than the old one had.
func TestWatchNoticesARestart(t *testing.T) {
	w := &watcher{replicas: []*watchedReplica{{host: "a"}}}
	r := w.replicas[0]
	for _, s := range []*gateStats{{Entered: 5000, Allocated: 1 << 30, WithoutTurn: 2, Unheeded: 1}, nil, {Entered: 9000, Allocated: 2 << 30, Unheeded: 3}} {
		r.Stats = s
		r.remember()
	}
	if got := w.warnings(); len(got) != 1 || !strings.Contains(got[0], "3 times requests kept coming") {
		t.Errorf("it says %q", got)
	}
}

// TestWatchTakesNoHandOverForTwo: the answers of one look are of different moments, between which the turn may pass from one to the other.
func TestWatchTakesNoHandOverForTwo(t *testing.T) {
	const crowd = "2 replicas are away at once"
	state := func(s string) *httptest.Server {
		return statsServer(t, func(_ uint64, m map[string]any) { m["State"] = s })
	}
	a, b, c := state("collecting"), state("collecting"), state("serving")
	w := &watcher{client: newStatsClient(), replicas: []*watchedReplica{{URL: a.URL, host: "a"}, {URL: b.URL, host: "b"}}}
	look := func() string {
		w.look(t.Context())
		return strings.Join(w.warnings(), "; ")
	}
	if got := look(); strings.Contains(got, crowd) {
		t.Errorf("after one look: %s", got)
	}
	w.replicas[1].URL = c.URL
	look()
	w.replicas[1].URL = b.URL
	for n := 1; n <= leftLooks; n++ {
		if got := look(); strings.Contains(got, crowd) != (n == leftLooks) {
			t.Errorf("at look %d: %q", n, got)
		}
	}
}

// TestWatchForgetsServers where the balancer cannot be asked: what is advised may be wrong by now.
func TestWatchForgetsServers(t *testing.T) {
	socket, err := parseStatsSocket("127.0.0.1:1,be")
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{client: newStatsClient(), balancer: socket, servers: []drainedServer{{Server: "be/a", LeftBehind: true}}}
	w.look(t.Context())
	if got := strings.Join(w.warnings(), "; "); strings.Contains(got, "is in DRAIN") || !strings.Contains(got, "cannot connect") {
		t.Errorf("it says %q", got)
	}
}

// stopAt calls stop when a text was written so many times.
type stopAt struct {
	said  bytes.Buffer
	text  string
	times int
	stop  func()
}

func (s *stopAt) Write(b []byte) (int, error) {
	n, err := s.said.Write(b)
	if strings.Count(s.said.String(), s.text) >= s.times {
		s.stop()
	}
	return n, err
}

// statSocket answers as HAProxy's "show stat be 4 -1" does; status is of server a, which is at addr.
func statSocket(t *testing.T, addr, status string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			if line == "show stat be 4 -1\n" {
				fmt.Fprintf(conn, "# pxname,svname,status,addr,\nbe,a,%s,%s,\nbe,b,UP,127.0.0.1:2,\n\n", status, addr)
			} else {
				fmt.Fprint(conn, "Unknown command\n\n")
			}
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return l.Addr().String()
}

// TestWatchNamesWhoIsLeftBehind: a server in DRAIN whose replica is not away.
func TestWatchNamesWhoIsLeftBehind(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	serving := statsServer(t, nil)
	away := statsServer(t, func(_ uint64, s map[string]any) { s["State"] = "draining" })
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	for _, tt := range []struct {
		name, addr, status string
		urls               []string
		left               bool
	}{
		{"its replica serves", host(serving.URL), "DRAIN", []string{serving.URL}, true},
		{"its replica is away", host(away.URL), "DRAIN", []string{away.URL, serving.URL}, false},
		{"another is away", host(serving.URL), "DRAIN (agent)", []string{away.URL, serving.URL}, true},
		{"up", host(serving.URL), "UP", []string{serving.URL}, false},
		{"unknown address, nobody is away", "10.1.2.3:80", "DRAIN", []string{serving.URL}, true},
		{"unknown address, somebody is away", "10.1.2.3:80", "DRAIN", []string{away.URL}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := call(append([]string{"watch", "-once", "-haproxy", statSocket(t, tt.addr, tt.status) + ",be"}, tt.urls...)...)
			r.check(t, exitOK, nil, nil)
			if said := strings.Contains(r.stdout, "be/a at "+tt.addr+" is in DRAIN, and no replica is away"); said != tt.left {
				t.Errorf("said: %v, want %v\n%s", said, tt.left, r.stdout)
			}
		})
	}
	call("watch", "-once", "-haproxy", statSocket(t, "", "")+",other", serving.URL).check(t, exitFailed, nil, []string{"is the backend's name right?"})
	call("watch", "-once", "-haproxy", "127.0.0.1:1,be", serving.URL).check(t, exitFailed, nil, []string{"cannot connect to the stats socket"})
}

// TestRoundsBetween says what happened between two looks.
func TestRoundsBetween(t *testing.T) {
	before := &gateStats{Collections: map[string]uint64{"trigger": 1}, Overlapped: 4}
	after := &gateStats{Collections: map[string]uint64{"trigger": 1, "idle gap": 2}, Overlapped: 5, at: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)}
	after.Phases = map[string]durationSum{"wanting": {Count: 2, Total: 4 * time.Second}, "collecting": {Count: 2, Total: time.Second}}
	want := "15:04:05  a: idle gap (2 times), waited 2 s, collected 500 ms, 1 request met it"
	if got := strings.Join(roundsBetween("a", before, after), ";"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := roundsBetween("a", after, before); got != nil { // it was started again
		t.Errorf("got %q", got)
	}
}
