package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// kept returns the recorded runs of a subject, in the order in which they ran.
func (f *recorded) kept(subject string, neighbour, planted bool) (rs []tailstat.Run) {
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Subject == subject && r.Neighbour == neighbour && r.Planted == planted {
			rs = append(rs, r.tailstat(0))
		}
	}
	return rs
}

// draw takes rounds of two runs that followed each other, and draws by lot which of the two is base: as evenkeel run
// would have it, with the same service as both.
func draw(rng *rand.Rand, rs []tailstat.Run) (b, h []tailstat.Run) {
	first := rng.IntN(2)
	var starts []int
	for i := first; i+1 < len(rs); i += 2 {
		starts = append(starts, i)
	}
	rng.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
	for i, at := range starts[:rounds] {
		x, y := rs[at], rs[at+1]
		if rng.IntN(2) == 0 {
			x, y = y, x
		}
		x.Round, y.Round = i+1, i+1
		b, h = append(b, x), append(h, y)
	}
	return b, h
}

// drawLoose takes as many runs, wherever they ran, and draws by lot which are base: what ranks of all with all suppose.
func drawLoose(rng *rand.Rand, rs []tailstat.Run) (b, h []tailstat.Run) {
	for i, at := range rng.Perm(len(rs))[:2*rounds] {
		if i%2 == 0 {
			b = append(b, rs[at])
		} else {
			h = append(h, rs[at])
		}
	}
	return b, h
}

// drawBlocks takes runs that followed each other, all of one set before all of the other: what happens without rounds.
func drawBlocks(rng *rand.Rand, rs []tailstat.Run) (b, h []tailstat.Run) {
	at := rng.IntN(len(rs) - 2*rounds + 1)
	b, h = rs[at:at+rounds], rs[at+rounds:at+2*rounds]
	if rng.IntN(2) == 0 {
		b, h = h, b
	}
	return b, h
}

// known returns runs with their figures computed once, as Values, and the figures that look there: trials draw the same
// runs again and again.
func known(rs []tailstat.Run) (out []tailstat.Run, figures []tailstat.Figure) {
	for i := range rs {
		r := rs[i]
		r.Values = map[string]float64{}
		for _, f := range tailstat.Figures() {
			if x, err := f.Of(&r); err == nil {
				r.Values[f.Name] = x
			}
		}
		out = append(out, r)
	}
	for _, f := range tailstat.Figures() {
		figures = append(figures, tailstat.Value(f.Name, f.More))
	}
	return out, figures
}

// perRival is how many trials of tailstat there are for each of a rival: its shares are near 5% and have to be told from 6%.
const perRival = 10

// alarms counts what is found between a service and itself, by tailstat and by its rivals.
func (d *driver) alarms(ctx context.Context) error {
	f, err := d.load()
	if err != nil {
		return err
	}
	for _, s := range subjects {
		for _, neighbour := range []bool{false, true} {
			rs := f.kept(s.name, neighbour, false)
			if len(rs) < 2*rounds+1 {
				return fmt.Errorf("%d runs of %s, neighbour %v; %d are needed", len(rs), s.name, neighbour, 2*rounds+1)
			}
			c := counter{found: map[[2]string]int{}, trials: map[[2]string]int{}}
			if err := c.itself(ctx, rs, d.trials); err != nil {
				return err
			}
			d.take(&c, s.name, neighbour)
		}
	}
	return nil
}

// counter counts what methods find in figures. Its mutex guards it.
type counter struct {
	mu            sync.Mutex
	found, trials map[[2]string]int // by method and figure
}

func (c *counter) note(method, figure string, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := [2]string{method, figure}
	c.trials[k]++
	if found {
		c.found[k]++
	}
}

// itself compares runs of a service with others of it, in trials.
func (c *counter) itself(ctx context.Context, rs []tailstat.Run, trials int) error {
	rs, figures := known(rs)
	return inParallel(ctx, perRival*trials, func(trial int) error {
		rng := rand.New(rand.NewPCG(17, uint64(trial)))
		b, h := draw(rng, rs)
		if err := c.compare(byRounds, figures, b, h); err != nil {
			return err
		}
		x, y := drawLoose(rng, rs)
		if err := c.compare(allToAll, figures, x, y); err != nil {
			return err
		}
		if trial%perRival > 0 {
			return nil
		}
		x, y = drawBlocks(rng, rs)
		if err := c.compare(inBlocks, figures, x, y); err != nil {
			return err
		}
		for _, r := range rivals {
			for figure, is := range r.finds(rng, b, h) {
				c.note(r.name, figure, is)
			}
		}
		return nil
	})
}

// compare notes what tailstat finds in each figure.
func (c *counter) compare(method string, figures []tailstat.Figure, b, h []tailstat.Run) error {
	for _, f := range figures {
		cmp, err := tailstat.Compare(b, h, tailstat.Options{Figures: []tailstat.Figure{f}})
		if err != nil {
			return err
		}
		if r := cmp.Result[0]; r.Missing == "" {
			c.note(method, f.Name, r.Verdict != tailstat.VerdictCannotTell)
		}
	}
	return nil
}

// take prints what was counted with a subject and keeps it.
func (d *driver) take(c *counter, subject string, neighbour bool) {
	methods := []string{byRounds, allToAll, inBlocks}
	for _, r := range rivals {
		methods = append(methods, r.name)
	}
	for _, method := range methods {
		fmt.Fprintf(d.out, "  %-8s neighbour %-5v %-27s", subject, neighbour, method)
		var worst *alarm
		for _, fig := range append(tailstat.Figures(), tailstat.Figure{Name: mean}) {
			k := [2]string{method, fig.Name}
			if c.trials[k] == 0 {
				continue
			}
			a := alarm{subject, neighbour, method, fig.Name, c.trials[k], c.found[k], percent(c.found[k], c.trials[k])}
			fmt.Fprintf(d.out, "  %s %.1f%%", fig.Name, a.Share)
			d.found.Alarms = append(d.found.Alarms, a)
			if worst == nil || a.Share > worst.Share {
				worst = &a
			}
		}
		if worst != nil {
			d.found.Worst = append(d.found.Worst, *worst)
		}
		fmt.Fprintln(d.out)
	}
}

func (d *driver) load() (*recorded, error) {
	name, err := d.recorded()
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(d.out, "recorded runs:", name)
	d.set.Raw["recorded"] = name
	return read(name)
}

// power counts how often a change is found that was planted: in the recorded latencies of one of two runs of the same
// service, all beyond its p90 made longer; and in msgpush itself, by a window of messages that takes longer to mark.
func (d *driver) power(ctx context.Context) error {
	f, err := d.load()
	if err != nil {
		return err
	}
	p99 := tailstat.Quantile(.99)
	for _, c := range []powered{
		{Subject: "msgpush", Slower: 1.2, Rounds: 10}, {Subject: "search", Slower: 1.5, Rounds: 20}, {Subject: "hello", Slower: 1.5, Rounds: 20},
	} {
		rs := f.kept(c.Subject, false, false)
		const was, now = "p99", "p99 made longer"
		for i := range rs {
			x, err := p99.Of(&rs[i])
			if err != nil {
				return fmt.Errorf("%s: %w", c.Subject, err)
			}
			y, _ := p99.Of(&tailstat.Run{Latency: slowed(rs[i].Latency.(*loadgen.Histogram), c.Slower)}) // it has as many requests
			rs[i].Values = map[string]float64{was: x, now: y}
		}
		c.Rounds = min(c.Rounds, len(rs)/2)
		for trial := range d.trials {
			rng := rand.New(rand.NewPCG(18, uint64(trial)))
			var b, h []tailstat.Run
			for i, at := range rng.Perm(len(rs) / 2)[:c.Rounds] {
				x, y := rs[2*at], rs[2*at+1]
				if rng.IntN(2) == 0 {
					x, y = y, x
				}
				b = append(b, tailstat.Run{Round: i + 1, Values: map[string]float64{"p99": x.Values[was]}})
				h = append(h, tailstat.Run{Round: i + 1, Values: map[string]float64{"p99": y.Values[now]}})
			}
			cmp, err := tailstat.Compare(b, h, tailstat.Options{Figures: []tailstat.Figure{tailstat.Value("p99", false)}})
			if err != nil {
				return err
			}
			c.Trials++
			switch cmp.Result[0].Verdict {
			case tailstat.VerdictSlower:
				c.Found++
			case tailstat.VerdictFaster:
				c.Wrong++
			}
		}
		c.Share = percent(c.Found, c.Trials)
		d.found.Power = append(d.found.Power, c)
	}
	return d.planted(ctx, f)
}

// slowed makes latencies beyond the p90 longer.
func slowed(h *loadgen.Histogram, by float64) *loadgen.Histogram {
	p90 := h.Quantile(.9)
	out := new(loadgen.Histogram)
	for l, n := range h.All() {
		if l > p90 {
			l = time.Duration(math.Round(float64(l) * by))
		}
		for range n {
			out.Record(l)
		}
	}
	return out
}

// planted compares msgpush with a msgpush whose window is longer, in the rounds in which both ran, whichever was first.
func (d *driver) planted(_ context.Context, f *recorded) error {
	var b, h []tailstat.Run
	for i := 0; i+1 < len(f.Runs); i++ {
		x, y := &f.Runs[i], &f.Runs[i+1]
		if x.Planted == y.Planted || x.Subject != y.Subject || x.Neighbour != y.Neighbour {
			continue
		}
		if x.Planted {
			x, y = y, x
		}
		b, h = append(b, x.tailstat(len(b)+1)), append(h, y.tailstat(len(h)+1))
		i++ // the two are one round
	}
	if len(b) < rounds {
		return fmt.Errorf("%d rounds with a plant; %d are needed", len(b), rounds)
	}
	b, _ = known(b)
	h, _ = known(h)
	one := tailstat.Options{Figures: []tailstat.Figure{tailstat.Value("p99", false)}}
	truth, err := tailstat.Compare(b, h, one)
	if err != nil {
		return err
	}
	r := truth.Result[0]
	p := plantedRuns{Ratio: r.Ratio, Within: r.Within, Rounds: len(b), Trials: d.trials}
	for trial := range p.Trials {
		rng := rand.New(rand.NewPCG(19, uint64(trial)))
		var x, y []tailstat.Run
		for _, at := range rng.Perm(len(b))[:rounds] {
			x, y = append(x, b[at]), append(y, h[at])
		}
		c, err := tailstat.Compare(x, y, one)
		if err != nil {
			return err
		}
		if c.Result[0].Verdict == tailstat.VerdictSlower {
			p.Found++
		}
	}
	d.found.Planted = &p
	return nil
}
