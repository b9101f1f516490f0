package httpgate

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/golden"
)

func TestStatusPage(t *testing.T) {
	now := time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)
	golden.Check(t, "status.html", renderPage(gcgate.Stats{
		Policy: gcgate.PolicyDrain, State: gcgate.StateServing, Limit: 2 << 30,
		Collections: map[gcgate.Reason]uint64{gcgate.ReasonTrigger: 41, gcgate.ReasonIdleGap: 3}, Escaped: 1,
		Phases: map[gcgate.State]gcgate.Duration{
			gcgate.StateAnnouncing: {Count: 44, Total: 440 * time.Millisecond, Max: 31 * time.Millisecond},
			gcgate.StateCollecting: {Count: 44, Total: 4 * time.Second, Max: 210 * time.Millisecond},
		},
		Entered: 98_765, Overlapped: 12, OverlappedOther: 610, IgnoredDrains: 2, Refused: 3, WithoutTurn: 1,
		InFlight: 4, Oldest: 5 * time.Minute, Live: 300 << 20, Heap: 411 << 20, Trigger: 600 << 20, Hard: 825 << 20,
		Turn: gcgate.TurnStats{
			Held: gcgate.Duration{Count: 44, Total: 44 * 56 * time.Millisecond}, Holding: 1,
			HeldUpBy: "HAProxy be/a at 127.0.0.1:9199: connection refused", HeldUpFor: 7 * time.Second,
			Replicas: 4, Turns: 1, Load: .351,
			LongestWait: 168 * time.Millisecond, Spare: 1700 * time.Millisecond,
		},
		Expected: 200 * time.Millisecond, Next: now.Add(1500 * time.Millisecond),
	}, processStats{
		CPU: 83 * time.Second, Collector: 9 * time.Second, Busy: 90 * time.Second, Cycles: 45, Procs: 2,
		Host: "db-1", PID: 812, Uptime: 50*time.Hour + 4*time.Minute + 5*time.Second,
	}, now))
	golden.Check(t, "status-single.html", renderPage(gcgate.Stats{
		Policy: gcgate.PolicyMemory, Limit: math.MaxInt64, Advice: "5% of the requests overlapped a collection <&",
		Turn: gcgate.TurnStats{Turns: 1, HeldUpBy: "db-1:812", HeldUpFor: 6 * time.Second},
	}, processStats{}, now))
}

// TestStatusInJSON for programs, and for people HTML.
func TestStatusInJSON(t *testing.T) {
	g, _ := startGate(t, gcgate.Options{Policy: gcgate.PolicyThrough})
	g.Enter().Exit()
	h := Status(g)
	asked := get()
	asked.URL.RawQuery = "json"
	for _, r := range []struct {
		name string
		json bool
		body string
	}{
		{"the query", true, body(serve(h, asked))},
		{"a program", true, body(serve(h, get("Accept", "application/json")))},
		{"a browser", false, body(serve(h, get("Accept", "text/html,application/json;q=0.9")))},
		{"nothing said", false, body(serve(h, get()))},
	} {
		if !r.json {
			if !strings.HasPrefix(r.body, "<!DOCTYPE html>") {
				t.Errorf("%s: %s", r.name, r.body)
			}
			continue
		}
		var s struct {
			gcgate.Stats
			Process processStats
		}
		if err := json.Unmarshal([]byte(r.body), &s); err != nil || s.Entered != 1 ||
			s.Policy != gcgate.PolicyThrough ||
			!strings.Contains(r.body, `"Overlapped":0`) {
			t.Errorf("%s: %v, %+v", r.name, err, s)
		}
		if s.Process.Procs != runtime.GOMAXPROCS(0) || s.Process.Collector < 0 ||
			runtime.GOOS == "linux" && s.Process.CPU <= 0 {
			t.Errorf("%s: the process is %+v", r.name, s.Process)
		}
		if p := s.Process; p.PID != os.Getpid() || p.Uptime <= 0 || p.Busy < p.Collector {
			t.Errorf("%s: the process is %+v", r.name, p)
		}
	}
}

// TestStatusWithoutGate says so, and where to read why: Guarded.Gate returns nil where it could not
// start.
func TestStatusWithoutGate(t *testing.T) {
	g, _ := guard(t, gcgate.Options{Policy: gcgate.PolicyShed})
	h := Status(g.Gate())
	page := serve(h, get("Accept", "text/html"))
	if page.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", page.StatusCode)
	}
	golden.Check(t, "status-none.html", body(page))
	var answer struct{ Error string }
	if err := json.Unmarshal([]byte(body(serve(h, get("Accept", "application/json")))), &answer); err != nil ||
		!strings.Contains(answer.Error, "no gate") {
		t.Errorf("a program gets %+v, %v", answer, err)
	}
}
