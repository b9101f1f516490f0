package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/bench/machine"
)

// What a process with a gate may cost that has nothing to do.
const (
	idleRequests = 18 // before it falls silent
	idleCPU      = .2 // percent of a core
	idleSwitches = 100
	slowRate     = 250  // requests a second
	slowCPU      = 1.03 // of that of the stock runtime
)

// small is the workload of msgpush with next to nothing alive.
var small = []string{"-size", "1024", "-batch", "64", "-window", "1000"}

// idleModes are processes that have nothing to do, each alone on its port.
var idleModes = []mode{
	{name: "default", what: "the stock runtime"},
	{name: "through", what: "policy through", args: func(place) []string { return []string{"-gate=through"} }},
	{name: "idle", what: "policy idle", args: func(place) []string { return []string{"-gate=idle"} }},
	{name: "auto", what: "policy auto", args: func(place) []string { return []string{"-gate"} }},
	{name: "memory", what: "policy memory, 2 GiB to spend", args: func(place) []string { return []string{"-gate=memory", "-limit", "2GiB"} }},
	{name: "shed", what: "policy shed", args: func(place) []string { return []string{"-gate=shed", "-no-turns"} }},
	{name: "drain", what: "policy drain, told in the answers' headers", args: func(place) []string { return []string{"-gate=drain", "-inband"} }},
}

// idleFigures are what one process cost while it had nothing to do.
type idleFigures struct {
	Mode     string        `json:"mode"`
	Window   time.Duration `json:"window_ns"`
	CPU      time.Duration `json:"cpu_ns"`
	Switches int64         `json:"switches"` // of all its threads, of their own accord and not
}

func (f idleFigures) share() float64     { return 100 * f.CPU.Seconds() / f.Window.Seconds() }
func (f idleFigures) perSecond() float64 { return float64(f.Switches) / f.Window.Seconds() }

// idle measures what a gate costs a process that has nothing to do, and one that has little.
func (d *driver) idle(ctx context.Context) error {
	var err error
	if d.idled, err = d.idleProcesses(ctx); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n%d requests, %v of silence, then %v more of it\n", idleRequests, d.settle, d.idleFor)
	d.idleFigures()
	return d.slow(ctx)
}

func (d *driver) idleFigures() {
	for _, f := range d.idled {
		if f.Mode == "default" || d.quick {
			fmt.Fprintf(d.out, "%-20s %.3f%% of a core, %.0f switches/s\n", f.Mode, f.share(), f.perSecond())
			continue
		}
		d.set.AtMost("idle: "+f.Mode+": CPU, of a core", []float64{f.share()}, idleCPU, "%")
		d.set.AtMost("idle: "+f.Mode+": switches", []float64{f.perSecond()}, idleSwitches, "/s")
	}
}

// idleProcesses runs all of idleModes at the same time: none has anything to do.
func (d *driver) idleProcesses(ctx context.Context) (figures []idleFigures, err error) {
	var running []*replica
	defer func() {
		for _, r := range running {
			r.stop()
		}
	}()
	for _, m := range idleModes {
		m.all = true
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		r, err := d.startReplica(ctx, spec{mode: m, addr: addr, args: small})
		if err != nil {
			return nil, err
		}
		running = append(running, r)
	}
	for range idleRequests {
		for _, r := range running {
			resp, err := r.get(ctx, "/push")
			if err != nil {
				return nil, err
			}
			resp.Body.Close()
		}
	}
	fmt.Fprintf(d.out, "%d processes have nothing to do: back at %s\n", len(running), time.Now().Add(d.settle+d.idleFor).Format(time.TimeOnly))
	if err := pause(ctx, d.settle); err != nil {
		return nil, err
	}
	begin := time.Now()
	before, err := cpuAndSwitches(running)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, d.idleFor); err != nil {
		return nil, err
	}
	after, err := cpuAndSwitches(running)
	if err != nil {
		return nil, err
	}
	window := time.Since(begin)
	for i, m := range idleModes {
		figures = append(figures, idleFigures{m.name, window, after[i].CPU - before[i].CPU, after[i].Switches - before[i].Switches})
	}
	return figures, nil
}

// cpuAndSwitches reads what processes have used since they began.
func cpuAndSwitches(of []*replica) (figures []idleFigures, err error) {
	for _, r := range of {
		pid := r.Pid()
		cpu, cerr := machine.CPUTime(pid)
		n, serr := switches(pid)
		figures = append(figures, idleFigures{CPU: cpu, Switches: n})
		err = errors.Join(err, cerr, serr)
	}
	return figures, err
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// slow measures the CPU time of auto at a low rate, beside the stock runtime.
func (d *driver) slow(ctx context.Context) error {
	defer d.slowFigures() // also of what was measured before an error
	l := load{name: "slow", rate: slowRate}
	for round := 1; round <= d.rounds; round++ {
		names := []string{"default", "auto"}
		if round%2 == 0 {
			names = []string{"auto", "default"}
		}
		for _, name := range names {
			m := modeNamed(idleModes, name)
			m.work = small
			if _, err := d.measure(ctx, m, 1, l, round); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *driver) slowFigures() {
	d.ratios("slow", []target{{"auto", "default", "CPU", slowCPU, false}})
}
