package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/internal/testutil"
)

func TestWatchOnce(t *testing.T) {
	ok := statsServer(t, nil)
	away := statsServer(t, func(_ uint64, s map[string]any) { s["State"] = "collecting"; s["Overlapped"] = 3 })
	waits := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["WithoutTurn"], s["IgnoredDrains"] = "wanting", 2, 1
		s["Advice"] = "a second replica\x1b[2J would help"
		s["Turn"] = map[string]any{"Turns": 1, "Load": 1.25}
	})
	r := call("watch", "-once", ok.URL, away.URL, waits.URL+"/debug/gate")
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	r.check(t, cli.ExitOK, []string{
		"replica state turn heap trigger hard live met a collection collections",
		host(ok.URL) + " serving 381 MiB 67% 572 MiB 787 MiB 286 MiB 0 of 100 1",
		host(away.URL) + " collecting has it", "3 of 100",
		host(waits.URL) + " wanting waits",
		"! " + host(waits.URL) + ": 2 collections went without a turn",
		"1 times requests came after", "the load of the turns is 1.25", "a second replica",
	}, nil)
	if strings.Contains(r.stdout, "\x1b") {
		t.Errorf("a replica's text reaches the terminal as it is: %q", r.stdout)
	}
	r = call("watch", "-once", "-json", ok.URL, "127.0.0.1:1")
	r.check(t, cli.ExitFailed, nil, []string{"127.0.0.1:1"})
	var look struct {
		Replicas []struct {
			URL, Error string
			Stats      *gatestats.Stats
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.stdout), &look); err != nil || len(look.Replicas) != 2 ||
		look.Replicas[0].Stats.Heap != 400e6 || look.Replicas[1].Error == "" || len(look.Warnings) != 1 {
		t.Errorf("%v: %s", err, r.stdout)
	}
	lingers := statsServer(t, func(_ uint64, s map[string]any) { s["Turn"] = map[string]any{"Turns": 1, "Holding": 1} })
	alone := statsServer(t, func(_ uint64, s map[string]any) {
		s["State"], s["Turn"] = "collecting", map[string]any{"Turns": 1, "Holding": 0}
	})
	call("watch", "-once", lingers.URL, alone.URL).check(t, cli.ExitOK,
		[]string{host(lingers.URL) + " serving has it", host(alone.URL) + " collecting without"}, nil)
	both := call("watch", "-once", away.URL, away.URL)
	both.check(t, cli.ExitOK, []string{"! 2 replicas are drained at once with 1 turn"}, nil)
}

// TestWatchOnceInterrupted: a look that was cut short says nothing of the replicas.
func TestWatchOnceInterrupted(t *testing.T) {
	for _, flags := range []string{"-once", "-once -json"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := interrupted(t, ctx, cancel, statsServer(t, nil), append([]string{"watch"}, strings.Fields(flags)...)...)
		r.check(t, cli.ExitInterrupted, nil, []string{"evenkeel watch: interrupted"})
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
	a := &cli.App{Stdout: out, Stderr: io.Discard}
	if code := dispatch(ctx, a, []string{"watch", "-every", "100ms", s.URL}); code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, &out.said)
	}
	if !strings.Contains(out.said.String(), "last collections") {
		t.Errorf("it says\n%s", &out.said)
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

// statSocket answers as HAProxy's "show stat be 4 -1" does; status is of server a, which is at
// addr.
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
			r := call(append([]string{"watch", "-once", "-haproxy", statSocket(t, tt.addr, tt.status) + ",be"},
				tt.urls...)...)
			r.check(t, cli.ExitOK, nil, nil)
			if said := strings.Contains(r.stdout,
				"be/a at "+tt.addr+" is in DRAIN, but no replica there is drained"); said != tt.left {
				t.Errorf("said: %v, want %v\n%s", said, tt.left, r.stdout)
			}
		})
	}
	call("watch", "-once", "-haproxy", statSocket(t, "", "")+",other", serving.URL).check(t, cli.ExitFailed, nil,
		[]string{"and the backend's name"})
	call("watch", "-once", "-haproxy", "127.0.0.1:1,be", serving.URL).check(t, cli.ExitFailed, nil,
		[]string{"cannot connect to the stats socket"})
}
