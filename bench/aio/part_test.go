package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
)

// TestParts runs each row of the parts accept, idle and hostile once with each of its servers, as small as can be, and
// looks at counts alone.
func TestParts(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("needs proc(5): ", err)
	}
	if runtime.NumCPU() < 2 {
		t.Skip("needs two cores, one for the server and one for the client")
	}
	for _, part := range parts[1:] {
		t.Run(part.name, func(t *testing.T) {
			d := testDriver(t)
			d.tiny, d.servers = true, allServers
			if err := d.choose(part.name, "", "", map[string]bool{"length": true}); err != nil {
				t.Fatal(err)
			}
			for _, l := range d.loads {
				for _, p := range l.points {
					if p.conns = min(p.conns, 20); p.workload == "accept" {
						p.conns = 512 + d.count("accept")
					}
					for _, s := range l.servers {
						if _, ok := rows[p.workload]; ok { // TestServers has the others
							t.Run(p.workload+"/"+s.name, func(t *testing.T) { runs(t, d, s, p) })
						}
					}
				}
			}
		})
	}
}

// runs has one row measured, and asks for all that it shall count.
func runs(t *testing.T, d *driver, s server, p point) {
	if s.name == aioURing {
		needURing(t)
	}
	one, err := d.one(t.Context(), s, p)
	for again := *d; err != nil && strings.Contains(err.Error(), "no answer in "+again.length.String()) && again.length < 20*time.Second; {
		again.length *= 2 // on a busy machine
		one, err = again.one(t.Context(), s, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{ // at least
		"rush": 20, "closed": 10, "slowcalls": 1, "queued": 190, "unread": 5, "bulk": 1, "short": 10, "crowd": 20, "swapreads": 10,
	}[p.workload]
	if got := float64(one.Messages); got < want {
		t.Errorf("%.0f messages, want %.0f: %+v", got, want, one)
	}
	values := map[string]map[string]float64{
		"accept": {"accepted": 10, "allocs": 0, "cpu_ns": 0}, "closed": {"complete": 10}, "queued": {"small": 1}, "bulk": {"bulk_mb_s": 0}, "short": {"reads": 10}, "swapreads": {"reads": 10},
		"unread": {"syn_again": 0, "listen_overflows": 0, "backlog_drops": 0}, "crowd": {"syn_again": 0},
		"deadlines-up": {"deadlines": 200}, "deadlines-random": {"deadlines": 200}, "deadlines-down": {"deadlines": 200},
	}[p.workload]
	for name, least := range values {
		if got := value(name)(one); !(got >= least) { // no number is less, too
			t.Errorf("%s %v, want %v at least: %+v", name, got, least, one.Values)
		}
	}
	if partOf(p.workload).name == "idle" && one.Idle == nil {
		t.Error("no memory was read")
	}
}

// TestRows judges made-up runs of every row, which meet their targets, and then one of which misses.
func TestRows(t *testing.T) {
	r := &recorded{Rounds: 6, Default: aioURing}
	for round := range r.Rounds {
		for _, row := range rows {
			for _, name := range row.servers {
				s := sample{Server: name, Workload: row.point.workload, Size: row.point.size, Conns: row.point.conns, Round: round, Idle: &idle{Anonymous: 400}}
				s.Messages, s.Seconds, s.CPU = 1000, 1, 30_000
				s.Latency.P50, s.Latency.P99, s.Latency.Max = 100, 900, 5000
				s.Values = map[string]float64{"complete": 200, "late_ms": 3, "gap_ms": 2, "max_ms": 4, "mean_ms": 1, "short": 0, "reads": 1000, "allocs": 2, "cpu_ns": 9000}
				r.Samples = append(r.Samples, s)
			}
		}
	}
	figures := func() map[string]figure.Figure {
		set := figure.New("aio-test")
		var out bytes.Buffer
		set.Out = &out
		tables(r, &out)
		targets(set, r)
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "not measured") && !strings.HasPrefix(line, "resident bytes an idle connection") { // at 8,000 connections
				t.Error(line)
			}
		}
		figureTable(set, &out)
		by := map[string]figure.Figure{}
		for _, f := range set.Figures {
			by[f.Name] = f
			if !strings.Contains(out.String(), "| "+f.Name+" | ") {
				t.Errorf("%s is not in the guide's table", f.Name)
			}
		}
		return by
	}
	met := figures()
	for name, f := range met {
		if f.Verdict != figure.Met {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if len(met) < 25 {
		t.Errorf("%d figures of the three parts", len(met))
	}
	for i, s := range r.Samples {
		if s.Server == aioEpoll && s.Workload == "short" {
			r.Samples[i].Values["short"] = 1
			break
		}
	}
	for i, s := range r.Samples {
		if s.Server == aioURing && s.Workload == "closed" {
			r.Samples[i].Values["complete"] = 199
			break
		}
	}
	missed := 0
	for name, f := range figures() {
		if f.Verdict == figure.Missed {
			missed++
			if name != "messages of 100 B to 30 KB that a read cut, of 6000, epoll" && name != "writes, then Close: complete of 200, the worst run, io_uring" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	if missed != 2 {
		t.Errorf("%d figures missed, want 2", missed)
	}
}
