//go:build linux

package gate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

const liveTraffic = "live traffic"

type demoRun struct {
	Label  string          `json:"label"`
	Repeat int             `json:"repeat"`
	Env    []string        `json:"env"`
	Load   *loadgen.Result `json:"load"`
	Server struct {
		PeakRSSBytes int64         `json:"peak_rss_bytes"`
		CPU          time.Duration `json:"cpu_ns"`
		Exit         string        `json:"exit"`
	} `json:"server"`
}

type event struct {
	Time   time.Time `json:"t"`
	Source string    `json:"source"`
	State  string    `json:"state"`
}

type demo struct {
	group
	dir    string
	runs   map[string]demoRun
	events []event
}

// Demo is the case of make demo-haproxy. It writes gate.json and gate-events.ndjson to dir.
func Demo(dir string) harness.Case {
	logged := func(args func(*system, int) []string) func(*system, int) []string {
		return func(s *system, i int) []string { return append(args(s, i), "-events", s.eventsFile(i)) }
	}
	collects := flags("-gate=through", "-no-turns")
	d := &demo{dir: dir, runs: map[string]demoRun{}, group: group{
		Case: harness.Case{Loads: []string{moderate}}, replicas: 2,
		loads: map[string]load{moderate: {rate: 2000, share: .35}},
		ways: []way{
			{name: liveTraffic, front: haproxy, window: messages, gated: true, args: logged(collects)},
			{name: gated, front: haproxy, window: messages, gated: true, args: logged(drainByAPI)},
		},
	}}
	return harness.Case{
		Name: "gate/demo", What: "two replicas behind HAProxy that collect under live traffic, and gated ones",
		Rounds: 1, Length: 20 * time.Second, Warmup: fillWarmup, Ways: []string{liveTraffic, gated}, Loads: d.Loads,
		Figures: []string{"requests", "failed", "overlapped", "p50", "p99", "p99.9"},
		Open: func(ctx context.Context, prepared *harness.Run) (func(), error) {
			prepared.Length, prepared.Warmup = min(prepared.Length, 6*time.Second), min(prepared.Warmup, time.Second)
			return d.calibrate(ctx, prepared)
		},
		Run: d.run,
	}
}

func (s *system) eventsFile(i int) string { return filepath.Join(s.dir, fmt.Sprintf("events-%d", i)) }

func (d *demo) run(ctx context.Context, r *harness.Run) error {
	s, err := open(ctx, r, d.way(r.Way), d.replicas)
	if err != nil {
		return err
	}
	load, err := s.load(ctx, r.Prepared[r.Load], false)
	run := demoRun{Label: r.Way, Repeat: 1, Env: []string{"GOMAXPROCS=1"}, Load: load}
	run.Server.Exit = "stopped"
	for _, rep := range s.replicas {
		peak, perr := machine.PeakRSS(rep.Pid())
		cpu, cerr := machine.CPUTime(rep.Pid())
		run.Server.PeakRSSBytes += peak
		run.Server.CPU += cpu
		err = errors.Join(err, perr, cerr)
	}
	s.close()
	for i := range s.replicas {
		err = errors.Join(err, d.read(s.eventsFile(i), fmt.Sprintf("%s, replica %d", r.Way, i+1)))
	}
	if d.runs[r.Way] = run; err != nil || len(d.runs) < len(d.ways) {
		return err
	}
	return d.write()
}

func (d *demo) read(name, source string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		e := event{}
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		e.Source = source
		d.events = append(d.events, e)
	}
}

func (d *demo) write() error {
	runs, err := json.MarshalIndent(map[string]any{
		"version": 1, "tool": "bench/gate", "machine": harness.Machine(),
		"runs": []demoRun{d.runs[liveTraffic], d.runs[gated]},
	}, "", " ")
	if err != nil {
		return err
	}
	var events bytes.Buffer
	enc := json.NewEncoder(&events)
	for _, e := range d.events {
		err = errors.Join(err, enc.Encode(e))
	}
	return errors.Join(err, os.MkdirAll(d.dir, 0o755),
		os.WriteFile(filepath.Join(d.dir, "gate.json"), append(runs, '\n'), 0o644),
		os.WriteFile(filepath.Join(d.dir, "gate-events.ndjson"), events.Bytes(), 0o644))
}
