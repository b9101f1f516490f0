package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// alarm is how often a method finds a difference between a service and itself.
type alarm struct {
	Subject   string  `json:"subject"`
	Neighbour bool    `json:"neighbour"`
	Method    string  `json:"method"`
	Figure    string  `json:"figure"`
	Trials    int     `json:"trials"`
	Share     float64 `json:"share"`
}

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
	starts = starts[:rounds]
	slices.Sort(starts)
	for i, at := range starts {
		x, y := rs[at], rs[at+1]
		if rng.IntN(2) == 0 {
			x, y = y, x
		}
		x.Round, y.Round = i+1, i+1
		b, h = append(b, x), append(h, y)
	}
	return b, h
}

// alarms counts what is found between a service and itself, by tailstat and by its rivals.
func (d *driver) alarms(ctx context.Context) error {
	f, err := d.load()
	if err != nil {
		return err
	}
	var all []alarm
	worst := map[string]float64{}
	for _, s := range subjects {
		for _, neighbour := range []bool{false, true} {
			rs := f.kept(s.name, neighbour, false)
			if len(rs) < 2*rounds+1 {
				return fmt.Errorf("%d runs of %s, neighbour %v; %d are needed", len(rs), s.name, neighbour, 2*rounds+1)
			}
			found := map[[2]string]int{}
			var mu sync.Mutex
			err := inParallel(ctx, d.trials, func(trial int) error {
				rng := rand.New(rand.NewPCG(17, uint64(trial)))
				b, h := draw(rng, rs)
				mine := map[[2]string]int{}
				note := func(method, figure string, is bool) {
					n := 0
					if is {
						n = 1
					}
					mine[[2]string{method, figure}] = n
				}
				for _, fig := range tailstat.Figures() {
					for _, paired := range []bool{true, false} {
						x, y, method := b, h, "tailstat, by rounds"
						if !paired {
							x, y, method = loose(b), loose(h), "tailstat, all with all"
						}
						c, err := tailstat.Compare(x, y, tailstat.Options{Figures: []tailstat.Figure{fig}})
						if err != nil {
							return err
						}
						if r := c.Result[0]; r.Missing == "" {
							note(method, fig.Name, r.Verdict != tailstat.VerdictCannotTell)
						}
					}
					if trial >= d.trials/10 { // a tenth says enough of those
						continue
					}
					for _, r := range rivals {
						if is, ok := r.finds(rng, fig, b, h); ok {
							note(r.name, fig.Name, is)
						}
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range mine {
					found[k] += n
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, method := range []string{"tailstat, by rounds", "tailstat, all with all", rivals[0].name, rivals[1].name, rivals[2].name} {
				trials := d.trials
				if method[0] != 't' || method[1] == '-' {
					trials = d.trials / 10
				}
				fmt.Fprintf(d.out, "  %-8s neighbour %-5v %-27s", s.name, neighbour, method)
				for _, fig := range tailstat.Figures() {
					n, ok := found[[2]string{method, fig.Name}]
					if !ok {
						continue
					}
					share := 100 * float64(n) / float64(trials)
					fmt.Fprintf(d.out, "  %s %.1f%%", fig.Name, share)
					all = append(all, alarm{s.name, neighbour, method, fig.Name, trials, share})
					worst[method] = max(worst[method], share)
				}
				fmt.Fprintln(d.out)
			}
		}
	}
	d.set.Raw["alarms"] = all
	for _, method := range []string{"tailstat, by rounds", "tailstat, all with all"} {
		d.set.AtMost("a service differs from itself, worst figure: "+method, []float64{worst[method]}, 6, "%")
	}
	for _, r := range rivals {
		fmt.Fprintf(d.out, "%-58s %.1f%%\n", "the same by "+r.name, worst[r.name])
	}
	return nil
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
	for _, c := range []struct {
		subject string
		slower  float64
		rounds  int
	}{{"msgpush", 1.2, 10}, {"search", 1.5, 20}, {"hello", 1.5, 20}} {
		rs := f.kept(c.subject, false, false)
		found, wrong := 0, 0
		trials := d.trials / 4
		for trial := range trials {
			rng := rand.New(rand.NewPCG(18, uint64(trial)))
			var b, h []tailstat.Run
			for i, at := range rng.Perm(len(rs) / 2)[:min(c.rounds, len(rs)/2)] {
				x, y := rs[2*at], rs[2*at+1]
				if rng.IntN(2) == 0 {
					x, y = y, x
				}
				x.Round, y.Round = i+1, i+1
				y.Latency = slowed(y.Latency.(*loadgen.Histogram), c.slower)
				b, h = append(b, x), append(h, y)
			}
			cmp, err := tailstat.Compare(b, h, tailstat.Options{Figures: []tailstat.Figure{tailstat.Quantile(.99)}})
			if err != nil {
				return err
			}
			switch cmp.Result[0].Verdict {
			case tailstat.VerdictSlower:
				found++
			case tailstat.VerdictFaster:
				wrong++
			}
		}
		share := 100 * float64(found) / float64(trials)
		name := fmt.Sprintf("%s: p99 longer by %.0f%% found in %d rounds", c.subject, 100*(c.slower-1), c.rounds)
		if c.subject == "hello" { // no target
			fmt.Fprintf(d.out, "%-58s %.0f%%\n", name, share)
		} else {
			d.set.AtLeast(name, []float64{share}, 80, "%")
		}
		d.set.AtMost(c.subject+": found to be shorter", []float64{100 * float64(wrong) / float64(trials)}, 2.5, "%")
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

// planted compares msgpush with a msgpush whose window is longer, in the rounds in which both ran.
func (d *driver) planted(_ context.Context, f *recorded) error {
	var b, h []tailstat.Run
	for i := 0; i+1 < len(f.Runs); i++ {
		x, y := &f.Runs[i], &f.Runs[i+1]
		if y.Planted && x.Subject == y.Subject && !x.Planted && !x.Neighbour {
			b, h = append(b, x.tailstat(len(b)+1)), append(h, y.tailstat(len(h)+1))
		}
	}
	if len(b) < rounds {
		return fmt.Errorf("%d rounds with a plant; %d are needed", len(b), rounds)
	}
	one := tailstat.Options{Figures: []tailstat.Figure{tailstat.Quantile(.99)}}
	truth, err := tailstat.Compare(b, h, one)
	if err != nil {
		return err
	}
	found, trials := 0, d.trials/4
	for trial := range trials {
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
			found++
		}
	}
	r := truth.Result[0]
	fmt.Fprintf(d.out, "msgpush with a longer window: p99 %.2fx [%.2f..%.2f] by all %d rounds; found in %.0f%% of draws of %d of them\n",
		r.Ratio, r.Within.Low, r.Within.High, len(b), 100*float64(found)/float64(trials), rounds)
	d.set.Raw["planted"] = map[string]any{"ratio": r.Ratio, "within": r.Within, "rounds": len(b), "found": 100 * float64(found) / float64(trials)}
	return nil
}
