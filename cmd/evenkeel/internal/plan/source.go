package plan

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

// An empty label means the only one.
func ofRuns(source string, in io.Reader, label string) (*Plan, error) {
	file, err := runfile.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	labels := map[string]bool{}
	for _, r := range file.Runs {
		labels[r.Label] = true
	}
	known := slices.Sorted(maps.Keys(labels))
	switch {
	case label == "" && len(known) > 1:
		return nil, fmt.Errorf("%s has runs of %s: choose one with -label", source, strings.Join(known, ", "))
	case label == "":
		label = known[0]
	case !labels[label]:
		return nil, fmt.Errorf("%s has no runs of %q, but of %s", source, label, strings.Join(known, ", "))
	}
	var sum runSum
	for i := range file.Runs {
		if file.Runs[i].Label == label {
			sum.add(&file.Runs[i])
		}
	}
	return sum.plan(source)
}

type runSum struct {
	runs                       float64
	seconds                    float64
	requests, allocated        float64
	live, cycles, marking      float64 // marking in seconds of CPU
	service                    float64
	beside                     float64
	traced, profiled, measured float64 // runs that have these
	procs                      int
}

func (s *runSum) add(r *runfile.Run) {
	s.runs++
	s.seconds += r.Load.Duration.Seconds()
	s.requests += float64(r.Load.Answered)
	if r.Alloc != nil {
		s.profiled++
		s.allocated += float64(r.Alloc.Bytes)
	}
	if r.GC != nil {
		live, ok := r.GC.Summary.Heap.Live.Mean.Get()
		marking, ok2 := marked(&r.GC.Summary)
		if ok && ok2 && r.GC.Summary.Collections > 0 {
			s.traced++
			s.live += float64(live)
			s.cycles += float64(r.GC.Summary.Collections)
			s.marking += marking.Seconds()
		}
		if procs, ok := r.GC.Summary.Procs.Get(); ok {
			s.procs = procs
		}
		if after, ok := r.GC.Summary.Heap.After.Max.Get(); ok && r.Server != nil {
			s.beside += max(float64(r.Server.PeakRSSBytes)-float64(after), 0)
		}
	}
	if r.Disturbance != nil {
		if cpu, ok := r.Disturbance.ServiceCPU.Get(); ok && cpu > 0 {
			s.measured++
			s.service += cpu.Seconds()
		}
	}
}

func (s *runSum) plan(source string) (*Plan, error) {
	switch {
	case s.seconds <= 0:
		return nil, fmt.Errorf("%s: its runs have no duration: measure with evenkeel run", source)
	case s.traced < s.runs:
		return nil, fmt.Errorf("%s: it lacks collections; measure for longer, with evenkeel run or load -gctrace",
			source)
	case s.profiled < s.runs:
		return nil, fmt.Errorf("%s: it lacks allocations; measure with evenkeel run or load -gctrace", source)
	case s.allocated == 0:
		return nil, fmt.Errorf("%s: nothing was allocated, so there is nothing to plan", source)
	case s.live == 0:
		return nil, fmt.Errorf("%s: collections left less than 1 MB, so there is nothing to plan", source)
	}
	p := &Plan{Source: source, load: load{
		Requests: s.requests / s.seconds, AllocRate: s.allocated / s.seconds, Live: s.live / s.runs,
		Beside: s.beside / s.runs, Procs: s.procs,
		MarkPerByte: exactly(s.marking / (s.cycles * s.live / s.runs)),
	}}
	if work := s.service - s.marking; s.measured == s.runs && work > 0 {
		p.measured = work / s.seconds
	} else {
		p.note(noCPU)
	}
	return p, nil
}

// marked includes idle processors' time, because under more load the same marking takes busy ones.
func marked(s *gctrace.Summary) (time.Duration, bool) {
	total, ok := s.CPU.Total.Get()
	idle, _ := s.CPU.Idle.Get()
	return total + idle, ok
}

func ofStatus(ctx context.Context, name string, length time.Duration) (*Plan, error) {
	at, err := fetch.ParseURL(name)
	if err != nil {
		return nil, err
	}
	url := at.String()
	client := gatestats.NewClient()
	before, err := gatestats.Fetch(ctx, client, url)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(length):
	}
	after, err := gatestats.Fetch(ctx, client, url)
	if err != nil {
		return nil, err
	}
	if after.Allocated < before.Allocated || after.Entered < before.Entered || after.Process.CPU < before.Process.CPU {
		return nil, fmt.Errorf("%s: the replica was started again, or it is a balancer; name one replica", url)
	}
	seconds := after.At.Sub(before.At).Seconds()
	p := &Plan{Source: url, load: load{
		Requests:  float64(after.Entered-before.Entered) / seconds,
		AllocRate: float64(after.Allocated-before.Allocated) / seconds, Live: float64(after.Live),
	}}
	if p.AllocRate == 0 || p.Live == 0 {
		return nil, fmt.Errorf("%s: nothing was allocated in %v, or nothing is alive: look at it under load", url,
			length)
	}
	p.limits = limits{Replicas: after.Turn.Replicas, Turns: after.Turn.Turns, Memory: after.MemoryLimit()}
	if mean := after.Turn.Held.Mean(); mean > 0 {
		p.Held = Range{Low: mean.Seconds(), High: max(after.Turn.Held.Max, mean).Seconds()}
	}
	p.work(before, after, seconds)
	return p, nil
}

func (p *Plan) work(before, after *gatestats.Stats, seconds float64) {
	if before.Process.CPU == 0 {
		p.note("this page lacks the CPU, which httpgate.Status has; " + noCPU)
		return
	}
	p.Procs = after.Process.Procs
	cycles := after.Process.Cycles - before.Process.Cycles
	collector := (after.Process.Collector - before.Process.Collector).Seconds()
	if cycles > 0 {
		p.MarkPerByte = exactly(collector / (float64(cycles) * p.Live))
	}
	p.measured = max((after.Process.CPU-before.Process.CPU).Seconds()-collector, 0) / seconds
	if cycles < enoughCycles {
		p.note("%s ended in %.0f seconds, so the collector's share of the CPU is rough; watch for longer with -for",
			textfmt.Plural(int(cycles), "collection"), seconds)
	}
}

const noCPU = "the replicas needed and the CPU of a request are not known"

const enoughCycles = 5 // makes one that overlaps an end of the window negligible
