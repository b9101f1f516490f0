package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

type shapeFlags struct {
	http1, http2 bool
	Seed         uint64
	times        string
}

func (s *shapeFlags) register(fs *flag.FlagSet, o *loadgen.Options) {
	fs.BoolVar(&s.http1, "http1", false, "HTTP/1.1 only (default: HTTP/2 if all servers offer it over TLS)")
	fs.BoolVar(&s.http2, "http2", false, "HTTP/2 only, also without TLS (h2c)")
	fs.Var((*cli.Whole)(&o.Streams), "streams", "HTTP/2: send so many `requests` at a time per connection (default 1)")
	fs.TextVar(&o.Arrivals, "arrivals", loadgen.ArrivalsConstant, "open loop: `constant` or poisson (random) gaps")
	fs.Uint64Var(&s.Seed, "seed", 0, "repeat the random choices of the run with this `number` (default: a new one)")
	fs.Func("stages", "open loop: `list` of DURATION:RATE or :FROM-TO, such as 10s:5,1m:5-50",
		func(text string) (err error) { o.Stages, err = parseStages(text); return err })
	fs.StringVar(&s.times, "times", "", "open loop: `file` with the time of a request per line, in seconds")
}

func (s *shapeFlags) apply(o *loadgen.Options) error {
	switch {
	case s.http1 && s.http2:
		return errors.New("-http1 and -http2 exclude each other")
	case s.http1:
		o.Protocol = loadgen.ProtocolHTTP1
	case s.http2:
		o.Protocol = loadgen.ProtocolHTTP2
	}
	if o.Arrivals == loadgen.ArrivalsPoisson {
		o.Seed = s.Seed
	}
	if o.Arrivals == loadgen.ArrivalsTimes && s.times == "" {
		return errors.New("-arrivals times: give the file of them, -times FILE")
	}
	if s.times != "" {
		var err error
		if o.Times, err = readTimes(s.times); err != nil {
			return fmt.Errorf("-times %w", err)
		}
	}
	if len(o.Stages)+len(o.Times) > 0 {
		o.Drain = drain
	}
	return nil
}

// loadDuration returns 0 if it is unbounded.
func loadDuration(o *loadgen.Options) time.Duration {
	d := o.Duration
	for _, s := range o.Stages {
		d += s.Duration
	}
	if n := len(o.Times); n > 0 && d == 0 {
		d = o.Times[n-1] + 1
	}
	return d
}

func Steady(o *loadgen.Options) {
	if len(o.Stages) > 0 {
		sum := 0.0
		for _, s := range o.Stages {
			sum += (s.From + s.To) / 2 * s.Duration.Seconds()
		}
		o.Rate = sum / loadDuration(o).Seconds()
	} else if len(o.Times) > 0 {
		d := min(loadDuration(o), o.Times[len(o.Times)-1]+1) // -z may end it early
		n, _ := slices.BinarySearch(o.Times, d)
		o.Rate = min(max(loadgen.MinRate, float64(n)/d.Seconds()), loadgen.MaxRate)
	}
	if o.Arrivals == loadgen.ArrivalsTimes {
		o.Arrivals = loadgen.ArrivalsConstant
	}
	o.Stages, o.Times = nil, nil
}

func parseStages(text string) (list []loadgen.Stage, err error) {
	for part := range strings.SplitSeq(text, ",") {
		wrong := fmt.Errorf("%q: write a stage as DURATION:RATE or DURATION:FROM-TO, such as 10s:500 or 1m:500-5000",
			part)
		length, rate, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, wrong
		}
		var d cli.Period
		from, to, ramp := strings.Cut(rate, "-")
		if !ramp {
			to = from
		}
		a, errA := strconv.ParseFloat(from, 64)
		b, errB := strconv.ParseFloat(to, 64)
		if d.Set(length) != nil || errA != nil || errB != nil {
			return nil, wrong
		}
		list = append(list, loadgen.Stage{From: a, To: b, Duration: time.Duration(d)})
	}
	return list, nil
}

const maxTimesBytes = 1 << 30

func readTimes(name string) ([]time.Duration, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var times []time.Duration
	err = eachLine(f, name, maxTimesBytes, func(n int, text string) error {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			return nil
		}
		d, err := time.ParseDuration(text)
		if s, serr := strconv.ParseFloat(text, 64); serr == nil && s > -9e9 && s < 9e9 { // not NaN
			d, err = time.Duration(s*1e9), nil
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %q is not a time; write it in seconds, or as a duration", name, n, text)
		}
		times = append(times, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%s: no times in it; write one a line", name)
	}
	slices.Sort(times)
	for i := len(times) - 1; i >= 0; i-- {
		times[i] -= times[0]
	}
	return times, nil
}

const maxWait = 24 * time.Hour

// ShareFlags divide a load between machines, which start by their clocks.
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
	fs.Func("start", "start at this `time` in seconds since 1970, as $(($(date +%s) + 5))", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errors.New("write seconds since 1970, such as $(($(date +%s) + 5))")
		}
		s.Start = time.Unix(n, 0)
		return nil
	})
	fs.BoolVar(&s.Quiet, "quiet", false, "show no progress")
}

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
			o.Seed += uint64(i) // else all would send at the same times
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

// Wait waits for the start. In the open loop each share starts an interval later than the one
// before, so that requests stay evenly spaced.
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
