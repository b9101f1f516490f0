package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

const maxWait = 24 * time.Hour

// ShareFlags are the flags of a load on several machines, which share a number and a start by their
// clocks.
type ShareFlags struct {
	Share *runfile.Share // nil: the whole load
	Start time.Time
	Quiet bool
}

func (s *ShareFlags) Register(fs *flag.FlagSet) {
	fs.Func("share",
		"put on share `I/N` of the load, I from 0 to N-1, of what -rate, -n and -c say", func(text string) error {
			i, n, ok := strings.Cut(text, "/")
			index, err1 := strconv.Atoi(i)
			of, err2 := strconv.Atoi(n)
			if !ok || err1 != nil || err2 != nil || index < 0 || index >= of {
				return errors.New("write it as I/N with I from 0 to N-1: of four machines 0/4, 1/4, 2/4 and 3/4")
			}
			s.Share = &runfile.Share{Index: index, Of: of}
			return nil
		})
	fs.Func("start", "start at this `time`, 2026-11-22T10:00:00Z or seconds since 1970", func(text string) error {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			s.Start = time.Unix(n, 0)
			return nil
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return errors.New("write a time with its zone, such as 2026-11-22T10:00:00Z, or seconds since 1970")
		}
		s.Start = t
		return nil
	})
	fs.BoolVar(&s.Quiet, "quiet", false, "show no progress")
}

// Apply reduces o to this machine's share.
func (s *ShareFlags) Apply(fs *flag.FlagSet, o *loadgen.Options) error {
	if !s.Start.IsZero() {
		switch left := time.Until(s.Start); {
		case left < 0:
			return fmt.Errorf("-start %s is over since %v: take a later time, at which all machines are ready",
				s.Start.Format(time.RFC3339), -left.Round(time.Millisecond))
		case left > maxWait:
			return fmt.Errorf("-start %s is %v ahead; it may be %v", s.Start.Format(time.RFC3339),
				left.Round(time.Second), maxWait)
		}
	}
	if s.Share == nil {
		return nil
	}
	if err := s.arrivals(o); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		n    *int
	}{{"n", &o.Requests}, {"c", &o.Connections}} {
		if !cli.Given(fs, f.name) {
			continue
		}
		if *f.n < s.Share.Of {
			return fmt.Errorf("-%s %d has no whole one for each of %d machines: write %d or more", f.name, *f.n,
				s.Share.Of, s.Share.Of)
		}
		whole := *f.n
		*f.n = whole / s.Share.Of
		if s.Share.Index < whole%s.Share.Of {
			*f.n++
		}
	}
	o.Rate /= float64(s.Share.Of)
	return nil
}

// arrivals divides changing rates. Poisson processes add up to one.
func (s *ShareFlags) arrivals(o *loadgen.Options) error {
	i, n := s.Share.Index, s.Share.Of
	switch {
	case len(o.Times) > 0:
		if len(o.Times) < n {
			return fmt.Errorf("-times has %d times, fewer than the %d machines", len(o.Times), n)
		}
		var mine []time.Duration
		for k := i; k < len(o.Times); k += n {
			mine = append(mine, o.Times[k])
		}
		o.Times = mine
	case o.Arrivals == loadgen.ArrivalsPoisson:
		if o.Seed != 0 {
			o.Seed += uint64(i) // or all would send at the same times
		}
	case len(o.Stages) > 0:
		return errors.New("-share with -stages would send all requests at the same times; add -arrivals poisson")
	}
	stages := slices.Clone(o.Stages)
	for k := range stages {
		stages[k].From /= float64(n)
		stages[k].To /= float64(n)
	}
	o.Stages = stages
	return nil
}

// Wait returns at the start of this share. In the open loop each share starts an interval later
// than the one before, so that requests stay evenly spaced.
func (s *ShareFlags) Wait(ctx context.Context, p *Progress, rate float64) error {
	start := s.Start
	if start.IsZero() {
		return nil
	}
	if s.Share != nil && rate > 0 {
		start = start.Add(time.Duration(float64(s.Share.Index) / (rate * float64(s.Share.Of)) * 1e9))
	}
	p.Say("waiting for the start at %s", s.Start.Format(time.RFC3339))
	defer p.Clear()
	t := time.NewTimer(time.Until(start))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return cli.ErrInterrupted
	}
}
