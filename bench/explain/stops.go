//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

// stopLengths are how long a service is stopped, one after the other.
var stopLengths = []time.Duration{
	20 * time.Millisecond, 30 * time.Millisecond, 50 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 200 * time.Millisecond, 350 * time.Millisecond, 500 * time.Millisecond,
}

// stopped is the plants whose services are stopped: between them, requests compute and wait for time, a lock, a system call, a
// service behind and a pool of workers.
var stopped = []int{3, 5, 6, 7, 8}

// stop is a time in which a service was stopped.
type stop struct {
	Plant  int     `json:"plant"`
	Length float64 `json:"seconds"`
	Named  float64 `json:"named"`  // part of it that the report says is the machine's
	Blamed string  `json:"blamed"` // cause and place to which a request's time in more than half of it is booked, if it is the program's; "": none

	from, to time.Time
}

// stops stops services under load by SIGSTOP, and sees whether the report says that the machine stood still.
func (d *driver) stops(ctx context.Context) error {
	var all []stop
	for range max(d.rounds/5, 1) {
		for _, number := range stopped {
			list, err := d.stopsOf(ctx, number, stopLengths)
			if err != nil {
				return fmt.Errorf("plant %d: %w", number, err)
			}
			all = append(all, list...)
		}
	}
	named, blamed := 0, 0
	for _, s := range all {
		if s.Named >= .8 {
			named++
		}
		if s.Blamed != "" {
			blamed++
		}
		if d.verbose || s.Named < .8 || s.Blamed != "" {
			fmt.Fprintf(d.out, "stops: plant %d, %v: %.0f%% is the machine's %s\n", s.Plant, time.Duration(s.Length*1e9).Round(time.Millisecond), 100*s.Named, s.Blamed)
		}
	}
	d.set.Raw["stops"] = all
	d.set.AtLeast("stops: named as the machine's, of "+strconv.Itoa(len(all)), []float64{float64(named) / float64(len(all))}, .95, "")
	d.set.AtMost("stops: blamed on code", []float64{float64(blamed)}, 0, "")
	return nil
}

// stopsOf stops one service once for each length, while it is traced under load.
func (d *driver) stopsOf(ctx context.Context, number int, lengths []time.Duration) ([]stop, error) {
	p := &plants[number-1]
	c, err := start(ctx, nil, filepath.Join(d.bin, "plant"), "-plant", strconv.Itoa(number))
	if err != nil {
		return nil, err
	}
	defer c.end()
	const pause = 300 * time.Millisecond    // between two stops
	length := pause + 1500*time.Millisecond // the first bytes may come a second after the trace's begin
	for _, l := range lengths {
		length += l + pause
	}
	load, end := context.WithCancel(ctx)
	defer end()
	loaded := make(chan error, 1)
	go func() {
		_, err := loadgen.Run(load, loadgen.Options{Targets: p.targets(c.url, 1000), Rate: 2 * p.rate, Duration: time.Hour, Connections: 400, Timeout: timeout})
		loaded <- err
	}()
	time.Sleep(d.warmup)
	res, err := begin(ctx, c.url, length)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	done := make(chan []stop, 1)
	go func() {
		var list []stop
		for i := range lengths {
			time.Sleep(pause)
			s := stop{Plant: number, from: time.Now()}
			if syscall.Kill(c.Pid(), syscall.SIGSTOP) != nil {
				break
			}
			time.Sleep(lengths[(i*3+number)%len(lengths)])
			s.to = time.Now()
			_ = syscall.Kill(c.Pid(), syscall.SIGCONT)
			s.Length = s.to.Sub(s.from).Seconds()
			list = append(list, s)
		}
		done <- list
	}()
	b, err := io.ReadAll(res.Body)
	list := <-done
	end()
	if err = errors.Join(err, <-loaded); err != nil {
		return nil, err
	}
	return list, judgeStops(ctx, b, list)
}

// judgeStops fills in what the report on a trace says of the stops.
func judgeStops(ctx context.Context, b []byte, list []stop) error {
	zero, err := originOf(b)
	if err != nil {
		return err
	}
	r, err := reqtrace.Analyze(ctx, bytes.NewReader(b), reqtrace.Options{})
	if err != nil {
		return err
	}
	overlap := func(s *stop, from, to time.Duration) float64 {
		a, b := max(from, s.from.Sub(zero)), min(to, s.to.Sub(zero))
		return max(b-a, 0).Seconds() / s.Length
	}
	for i := range list {
		for _, span := range r.Machine.Spans {
			list[i].Named += overlap(&list[i], span.Start, span.End)
		}
	}
	for q, err := range reqtrace.Read(ctx, bytes.NewReader(b), reqtrace.Options{}) {
		if err != nil {
			return err
		}
		for _, t := range q.Path {
			switch t.Cause {
			case reqtrace.CauseMachine, reqtrace.CauseNetwork, reqtrace.CauseSleep: // the latter two: it would have waited anyway
				continue
			}
			for i := range list {
				if overlap(&list[i], t.Start, t.End) > .5 && q.Parts.Of(reqtrace.CauseMachine).Seconds() < list[i].Length/2 {
					list[i].Blamed = t.Cause.String() + " at " + t.Site
				}
			}
		}
	}
	return nil
}

// originOf returns when a trace began, by the wall clock.
func originOf(b []byte) (time.Time, error) {
	r, err := trace.NewReader(bytes.NewReader(b))
	if err != nil {
		return time.Time{}, err
	}
	var first trace.Time
	for {
		e, err := r.ReadEvent()
		if err != nil {
			return time.Time{}, fmt.Errorf("a trace without the wall clock: %w", err)
		}
		if first == 0 {
			first = e.Time()
		}
		if e.Kind() != trace.EventSync {
			continue
		}
		if s := e.Sync().ClockSnapshot; s != nil {
			return s.Wall.Add(time.Duration(first - s.Trace)), nil
		}
	}
}
