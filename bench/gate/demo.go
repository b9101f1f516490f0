package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

// The demo's load: the share of a replica's core that the stock runtime uses, and for how long.
const (
	demoShare     = .35
	demoLength    = 20 * time.Second
	demoCalibrate = 6 * time.Second
)

// demoRun is a run as docs/reference/run-json.md describes it.
type demoRun struct {
	Label   string          `json:"label"`
	Repeat  int             `json:"repeat"`
	Command []string        `json:"command"`
	Env     []string        `json:"env"`
	Load    *loadgen.Result `json:"load"`
	Server  demoServer      `json:"server"`
}

type demoServer struct {
	PeakRSSBytes int64         `json:"peak_rss_bytes"`
	CPU          time.Duration `json:"cpu_ns"`
	Exit         string        `json:"exit"`
}

// event is a line of an events file.
type event struct {
	Time   time.Time `json:"t"`
	Source string    `json:"source"`
	State  string    `json:"state"`
}

// demo loads two replicas that collect under live traffic, then gated ones, and writes gate.json and
// gate-events.ndjson to dir, for evenkeel compare.
func (d *driver) demo(ctx context.Context, dir string) error {
	through, gated := modeNamed(single, "through"), modeNamed(modes, "gated")
	through.front = haproxy
	d.length, d.warmup, d.steps = demoCalibrate, time.Second, 2
	l, err := d.calibrate(ctx, through, 2, load{name: "demo", share: demoShare})
	if err != nil {
		return err
	}
	var runs []demoRun
	var events []event
	for _, m := range []struct {
		label string
		mode  mode
	}{{"live traffic", through}, {"gated", gated}} {
		fmt.Fprintf(d.out, "%s: two replicas, %.0f requests/s for %v\n", m.label, l.rate, demoLength)
		run, es, overlapped, err := d.demoOnce(ctx, m.label, m.mode, l)
		if err != nil {
			return fmt.Errorf("%s: %w", m.label, err)
		}
		fmt.Fprintf(d.out, "%s: %d of %d requests overlapped a collection, %d failed\n",
			m.label, overlapped, run.Load.Requests(), run.Load.Failed)
		runs, events = append(runs, run), append(events, es...)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := map[string]any{"version": 1, "tool": "bench/gate", "machine": d.set.Machine, "runs": runs}
	b, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "gate.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "gate-events.ndjson"), []byte(text.String()), 0o644)
}

// demoOnce runs one mode. It returns what happened inside the replicas during the load, and how many requests overlapped a
// collection.
func (d *driver) demoOnce(ctx context.Context, label string, m mode, l load) (demoRun, []event, int64, error) {
	files := make([]string, 2)
	sys, err := d.open(ctx, m, 2, func(i int, s *spec) {
		files[i] = filepath.Join(d.dir, fmt.Sprintf("events-%s-%d", m.name, i))
		s.args = append(append([]string(nil), s.args...), "-events", files[i])
	})
	if err != nil {
		return demoRun{}, nil, 0, err
	}
	options := sys.options(l, demoLength, d.warm(m, l, 2))
	var before, after int64
	var counting error
	options.OnMeasure = func() { before, counting = sys.overlapped(ctx) }
	r, err := loadgen.Run(ctx, options)
	run := demoRun{Label: label, Repeat: 1, Load: r, Server: demoServer{Exit: "stopped"}, Env: []string{"GOMAXPROCS=1"}}
	run.Command = append([]string{filepath.Base(d.binary(m))}, append(d.work, m.arguments(place{socket: d.socket, turns: "turns"})...)...)
	for _, rep := range sys.replicas {
		peak, _ := machine.PeakRSS(rep.Pid())
		cpu, _ := machine.CPUTime(rep.Pid())
		run.Server.PeakRSSBytes += peak
		run.Server.CPU += cpu
	}
	if err == nil {
		var last error
		after, last = sys.overlapped(ctx)
		err = errors.Join(counting, last)
	}
	sys.close()
	if ctx.Err() != nil {
		err = fmt.Errorf("cut short: %w", context.Cause(ctx))
	}
	if err != nil {
		return run, nil, 0, err
	}
	var events []event
	for i := range 2 {
		es, err := readEvents(files[i], fmt.Sprintf("%s, replica %d", label, i+1))
		if err != nil {
			return run, nil, 0, err
		}
		events = append(events, es...)
	}
	return run, events, after - before, nil
}

// overlapped returns how many requests overlapped a collection of their replica so far.
func (s *system) overlapped(ctx context.Context) (n int64, err error) {
	for _, rep := range s.replicas {
		stats, err := rep.stats(ctx)
		if err != nil {
			return 0, err
		}
		g := stats.gate()
		n += g.Overlapped + g.OverlappedOther
	}
	return n, nil
}

// readEvents reads the file that a replica wrote, and names the replica.
func readEvents(name, source string) ([]event, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var es []event
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		e := event{}
		if err := dec.Decode(&e); err == io.EOF {
			return es, nil
		} else if err != nil {
			return es, fmt.Errorf("%s: %w", name, err)
		}
		e.Source = source
		es = append(es, e)
	}
}
