// Package plan computes what replicas need to collect their garbage.
package plan

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/plan/outlook"
)

// Options say what to plan for. Zero means the source's value.
type Options struct {
	Replicas int
	Turns    int          // that may collect at once
	Memory   cli.ByteSize // of one replica
	Times    cli.Decimal
	Rate     cli.Decimal // requests a second in all
	Held     cli.Period  // that a collection holds its turn
	Watch    cli.Period  // to look at a status page
	Label    string
}

// Of plans for a run.json, a gctrace log, - for standard input, or the URL of a status page.
func Of(ctx context.Context, source string, o Options) (*Plan, error) {
	p, err := read(ctx, source, &o)
	if err != nil {
		return nil, err
	}
	if err := p.scale(&o); err != nil {
		return nil, err
	}
	p.Ways, err = outlook.Compare(p.service, p.options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Source, err)
	}
	p.judge()
	return p, nil
}

// Plan is what evenkeel plan says.
type Plan struct {
	Source       string            `json:"source"`
	Requests     float64           `json:"requests_per_second,omitempty"` // of all replicas; 0: not known
	AllocRate    float64           `json:"bytes_per_second"`
	Live         float64           `json:"live_bytes"`
	Procs        int               `json:"procs,omitempty"`    // of one; 0: not known
	Replicas     int               `json:"replicas,omitempty"` // 0: as many as are needed
	Turns        int               `json:"turns"`
	MemoryBytes  float64           `json:"memory_bytes,omitempty"` // of one; 0: no limit
	HeldMeasured bool              `json:"held_measured"`
	Held         outlook.Range     `json:"held_seconds,omitzero"` // where it was measured or given
	Ways         []outlook.Outlook `json:"ways"`
	Notes        []string          `json:"notes,omitempty"`

	service  outlook.Service
	options  outlook.Options
	measured float64 // CPU of requests per second; 0: not known
}

func (p *Plan) note(format string, a ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, a...)) }

func (p *Plan) scale(f *Options) error {
	times := max(float64(f.Times), 0)
	if f.Replicas > 0 {
		p.options.Replicas = f.Replicas
	}
	if f.Turns > 0 {
		p.options.Turns = f.Turns
	}
	if f.Memory > 0 {
		p.options.Memory = float64(f.Memory)
	}
	s := &p.service
	switch {
	case f.Rate > 0 && s.Requests == 0:
		return fmt.Errorf("%s: it says nothing of requests, so -rate means nothing; write -times", p.Source)
	case f.Rate > 0:
		times = float64(f.Rate) / s.Requests
	case times == 0:
		times = 1
		if fetch.IsURL(p.Source) {
			times = float64(max(p.options.Replicas, 1))
		}
	}
	s.Work = outlook.WorkAtKnee(p.measured, float64(max(s.Procs, 1))).Times(times)
	s.Requests *= times
	s.AllocRate *= times
	if f.Held > 0 {
		s.Held = outlook.Exactly(time.Duration(f.Held).Seconds())
	}
	p.Requests, p.AllocRate, p.Live, p.Procs, p.Held, p.HeldMeasured = s.Requests, s.AllocRate, s.Live, s.Procs, s.Held,
		!s.Held.IsZero()
	p.Replicas, p.Turns, p.MemoryBytes = p.options.Replicas, max(p.options.Turns, 1), p.options.Memory
	return nil
}

func read(ctx context.Context, name string, f *Options) (*Plan, error) {
	if fetch.IsURL(name) {
		return ofStatus(ctx, name, time.Duration(f.Watch))
	}
	in, source, err := cli.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b := bufio.NewReader(in)
	first, err := b.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is empty: name a run.json, or a log with GODEBUG=gctrace=1 lines", source)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", source, err)
	case first[0] == '{':
		return ofRuns(source, b, f.Label)
	case f.Label != "":
		return nil, fmt.Errorf("%s is not a run.json, and has no labels: leave -label out", source)
	}
	return ofLog(source, b)
}
