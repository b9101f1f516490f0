package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/gctrace"
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

// demo loads two replicas with the stock runtime, then gated, and writes gate.json and
// gate-events.ndjson to dir, for evenkeel compare.
func (d *driver) demo(ctx context.Context, dir string) error {
	stock, gated := modeNamed(modes, "default"), modeNamed(modes, "gated")
	d.length, d.warmup, d.steps = demoCalibrate, time.Second, 2
	l, err := d.calibrate(ctx, stock, 2, load{name: "demo", share: demoShare})
	if err != nil {
		return err
	}
	var runs []demoRun
	var events []event
	for _, m := range []struct {
		label string
		mode  mode
	}{{"stock runtime", stock}, {"gated", gated}} {
		fmt.Fprintf(d.out, "%s: two replicas, %.0f requests/s for %v\n", m.label, l.rate, demoLength)
		run, es, err := d.demoOnce(ctx, m.label, m.mode, l)
		if err != nil {
			return fmt.Errorf("%s: %w", m.label, err)
		}
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

// demoOnce runs one mode, and returns what happened inside the replicas meanwhile.
func (d *driver) demoOnce(ctx context.Context, label string, m mode, l load) (demoRun, []event, error) {
	gated := m.name != "default"
	traces := make([]*trace, 2)
	files := make([]string, 2)
	sys, err := d.open(ctx, m, 2, func(i int, s *spec) {
		if gated {
			files[i] = filepath.Join(d.dir, fmt.Sprintf("events-%d", i))
			s.args = append(append([]string(nil), s.args...), "-events", files[i])
			return
		}
		traces[i] = readTrace()
		s.env, s.stderr = []string{"GODEBUG=gctrace=1"}, traces[i].w
	})
	if err != nil {
		return demoRun{}, nil, err
	}
	r, err := loadgen.Run(ctx, sys.options(l, demoLength, d.warm(m, l, 2)))
	run := demoRun{Label: label, Repeat: 1, Load: r, Server: demoServer{Exit: "stopped"}, Env: []string{"GOMAXPROCS=1"}}
	run.Command = append([]string{filepath.Base(d.binary(m))}, append(d.work, m.arguments(place{socket: d.socket, turns: "turns"})...)...)
	for _, rep := range sys.replicas {
		peak, _ := machine.PeakRSS(rep.Pid())
		cpu, _ := machine.CPUTime(rep.Pid())
		run.Server.PeakRSSBytes += peak
		run.Server.CPU += cpu
	}
	sys.close()
	if err != nil || ctx.Err() != nil {
		return run, nil, fmt.Errorf("cut short: %w", context.Cause(ctx))
	}
	var events []event
	for i := range 2 {
		source := fmt.Sprintf("%s, replica %d", label, i+1)
		var es []event
		if gated {
			es, err = readEvents(files[i], source)
		} else {
			es = traces[i].events(source)
		}
		if err != nil {
			return run, nil, err
		}
		events = append(events, es...)
	}
	return run, events, nil
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

// trace reads a replica's gctrace lines as they come.
type trace struct {
	w    *os.File // for the replica
	done chan struct{}
	es   []event
	err  error
}

func readTrace() *trace {
	t := &trace{done: make(chan struct{})}
	var r *os.File
	if r, t.w, t.err = os.Pipe(); t.err != nil {
		close(t.done)
		return t
	}
	go func() {
		defer close(t.done)
		defer r.Close()
		for sc := gctrace.NewScanner(r); sc.Scan(); {
			end := time.Now() // a line is written when its collection has ended
			t.es = append(t.es, event{Time: end.Add(-sc.Cycle().Wall.Total()), State: "collecting"}, event{Time: end, State: "serving"})
		}
	}()
	return t
}

// events returns the collections, when the replica has ended.
func (t *trace) events(source string) []event {
	if t.w != nil {
		t.w.Close()
	}
	<-t.done
	for i := range t.es {
		t.es[i].Source = source
	}
	return t.es
}
