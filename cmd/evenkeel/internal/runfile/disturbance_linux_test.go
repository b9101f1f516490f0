package runfile

import (
	"os"
	"testing"
	"time"

	"evenkeel.dev/gctrace"
)

func TestParseUse(t *testing.T) {
	u, ok := parseStat("cpu  100 20 30 400 5 6 7 80 9 10\ncpu0 1 2 3\n")
	if !ok || u.busy != 1.5 || u.stolen != .8 || u.all < 6.479 || u.all > 6.481 {
		t.Errorf("%+v, %v", u, ok)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 3 4 5 6 7 -8"} {
		if _, ok := parseStat(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
	p, ok := parseProcess("42 (a b) c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 9 0 777 0 0")
	if !ok || p.name != "a b) c" || p.seconds != 2.5 || p.started != "777" {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, bad := range []string{"", "42 (a", ")(", "42 (a) S 1"} {
		if _, ok := parseProcess(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestDisturbance has the use of a machine as arithmetic: two processors for ten seconds.
func TestDisturbance(t *testing.T) {
	at := time.Now()
	begin := usage{
		at: at, busy: 100, stolen: 1, all: 1000, own: 5,
		processes: map[int]processUsage{
			1: {name: "server", started: "a", seconds: 50},
			2: {name: "old", started: "b", seconds: 9},
		},
	}
	end := usage{
		at: at.Add(10 * time.Second), busy: 110, stolen: 1.5, all: 1020, own: 6,
		processes: map[int]processUsage{
			1: {name: "server", started: "a", seconds: 53},
			2: {name: "new", started: "c", seconds: 2}, // of the same number as the one that has ended
		},
	}
	d := begin.until(end)
	for _, x := range []struct {
		what string
		v    gctrace.Value[float64]
		want float64
	}{{"others", d.Other, 20}, {"steal", d.Steal, 2.5}} {
		if got, ok := x.v.Get(); !ok || got < x.want-1e-9 || got > x.want+1e-9 {
			t.Errorf("%s: %v, %v; want %v", x.what, got, ok, x.want)
		}
	}
	ownCPU, _ := d.EvenkeelCPU.Get()
	serviceCPU, _ := d.ServiceCPU.Get()
	if ownCPU != time.Second || serviceCPU != 5*time.Second {
		t.Errorf("CPU time %v and %v, want 1 s and 5 s", ownCPU, serviceCPU)
	}
	if d.Service != "new, server" {
		t.Errorf("%q", d.Service)
	}
	if x := d.Taken(); len(x) != 2 || x[0].Percent < 19.9 || x[1].Percent != 2.5 {
		t.Errorf("taken: %v", x)
	}

	begin.processes, end.processes = nil, nil
	if d := begin.until(end); d.Other != (gctrace.Value[float64]{}) {
		t.Errorf("the service is not known, and others took %v", d.Other)
	}
	begin.elsewhere, end.elsewhere = true, true
	if x, _ := begin.until(end).Other.Get(); x != 45 {
		t.Errorf("the service is elsewhere: others took %v%%, want 45", x)
	}
	d.Window = time.Millisecond
	if d.Taken() != nil {
		t.Error("a window of a millisecond tells who disturbed it")
	}
	if d := (usage{}).until(usage{}); d != nil {
		t.Errorf("%+v of nothing", d)
	}
}

// TestWatch burns processor time as the service: it is nobody else's.
func TestWatch(t *testing.T) {
	w := NewWatch(Watched{Processes: func() []int { return []int{os.Getpid()} }})
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
	}
	d := w.End()
	if d == nil || d.Window < 30*time.Millisecond || d.Service == "" {
		t.Fatalf("%+v", d)
	}
	for _, v := range []gctrace.Value[float64]{d.Other, d.Steal} {
		if x, ok := v.Get(); !ok || x < 0 || x > 100 {
			t.Errorf("%v, %v", x, ok)
		}
	}
}
