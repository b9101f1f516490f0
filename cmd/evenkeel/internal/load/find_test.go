package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// simulated measures a queue M/M/1 of a rate of service instead of a server: as much time as asked
// for passes in it.
func simulated(service float64) func(context.Context, loadgen.Options, string) (*loadgen.Result, error) {
	rnd := rand.New(rand.NewPCG(1, 2))
	return func(_ context.Context, o loadgen.Options, _ string) (*loadgen.Result, error) {
		r := &loadgen.Result{Rate: o.Rate, Duration: o.Duration, Statuses: map[int]int64{}}
		if o.Rate == 0 { // a closed loop gets what there is
			r.Answered = int64(service * o.Duration.Seconds())
			r.Statuses[200] = r.Answered
			return r, nil
		}
		o.OnMeasure()
		began, at, wait := time.Now(), 0.0, 0.0
		for at < o.Duration.Seconds() {
			took := wait + rnd.ExpFloat64()/service
			d := time.Duration(took * 1e9)
			r.Latency.Record(d)
			o.OnLatency(began.Add(time.Duration(at*1e9)), d)
			r.Answered++
			gap := rnd.ExpFloat64() / o.Rate
			at, wait = at+gap, max(0, took-gap)
		}
		r.Statuses[200] = r.Answered
		return r, nil
	}
}

// What is found is within 5% of the queue's computed capacity, in at most 12 steps and the probe.
func TestFind(t *testing.T) {
	for _, rate := range []float64{0, 150, 40000} {
		const service, limit = 5000.0, .02
		want := service - math.Log(100)/limit // the time in the queue is exponential, with the rate service - arrivals
		var out, said bytes.Buffer
		f := &Finder{
			app: &cli.App{Stdout: &out, Stderr: &said}, measure: simulated(service),
			load: loadgen.Options{Duration: 20 * time.Second, Rate: rate},
			file: &runfile.File{Version: runfile.Version},
		}
		if err := f.goal.Set("p99<20ms"); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "find.json")
		if err := f.Find(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		best := 0.0
		for _, r := range f.file.Runs {
			if strings.Contains(out.String(), "holds up to "+strings.TrimSuffix(r.Label, "/s")+" ") {
				best = r.Load.Rate
			}
		}
		if math.Abs(best/want-1) > .05 || len(f.file.Runs) > 12 ||
			!strings.Contains(out.String(), "p99 < 20 ms holds up to ") {
			t.Errorf("from %v: found %v/s, computed %v/s, in %d steps\n%s%s", rate, best, want, len(f.file.Runs),
				said.String(), out.String())
		}
		if n := strings.Count(said.String(), "p99 is "); n != len(f.file.Runs) {
			t.Errorf("%d of %d steps are said", n, len(f.file.Runs))
		}
	}
}

// TestFindDisturbed has steps record what else the machine did, and say it.
func TestFindDisturbed(t *testing.T) {
	var said bytes.Buffer
	queue := simulated(20000)
	known := false // the system tells what its processors did
	f := &Finder{
		app:  &cli.App{Stdout: io.Discard, Stderr: &said},
		load: loadgen.Options{Duration: time.Second},
		file: &runfile.File{Version: runfile.Version}, service: runfile.Watched{Elsewhere: true},
		measure: func(ctx context.Context, o loadgen.Options, label string) (*loadgen.Result, error) {
			r, err := queue(ctx, o, label)
			r.Pacer.RecordN(2*time.Millisecond, r.Answered)
			// The system counts in ticks of some milliseconds, and the queue takes none: one has to
			// pass.
			watch := runfile.NewWatch(runfile.Watched{Elsewhere: true})
			for end := time.Now().Add(time.Minute); runtime.GOOS == "linux" && !known &&
				time.Now().Before(end); time.Sleep(time.Millisecond) {
				known = watch.End() != nil
			}
			return r, err
		},
	}
	if err := f.goal.Set("p99<20ms"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.step(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "the load generator itself was late with 1% of the requests, by 2.00 ms and "+
		"more)") {
		t.Errorf("not said: %s", said.String())
	}
	if (f.file.Runs[0].Disturbance != nil) != known {
		t.Errorf("recorded %+v, known %v", f.file.Runs[0].Disturbance, known)
	}
}

func TestJudge(t *testing.T) {
	g := Goal{Text: "p90 < 10ms", quantile: .9, limit: 10 * time.Millisecond}
	for name, c := range map[string]struct {
		stretches      [findStretches]time.Duration
		n              int
		answer5, fails int64
		want           rateVerdict
		why            string
	}{
		"all below": {[findStretches]time.Duration{1e6, 1e6, 1e6, 9e6, 9e6}, 20, 0, 0, rateHolds, ""},
		"all above": {
			[findStretches]time.Duration{11e6, 11e6, 11e6, 90e6, 90e6},
			20, 0, 0, rateFails,
			"",
		},
		"one above": {
			[findStretches]time.Duration{1e6, 1e6, 11e6, 1e6, 1e6},
			20, 0, 0, rateUnknown,
			"1.00 ms to 11.0 ms",
		},
		"too few": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6},
			9, 0, 0, rateUnknown,
			"too few",
		},
		"5xx": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6},
			20, 11, 0, rateFails,
			"11.0% failed",
		},
		"some failures": {[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6}, 20, 0, 5, rateHolds, ""},
		"many fail": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6},
			20, 0, 50, rateFails,
			"failed",
		},
		"a stretch empty": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6},
			20, 0, 0, rateUnknown,
			"too few",
		},
	} {
		s := &step{load: &loadgen.Result{Failed: c.fails, Statuses: map[int]int64{503: c.answer5}}}
		for i, d := range c.stretches {
			for range c.n {
				s.load.Answered++
				if d > 0 {
					s.stretches[i].Record(d)
				}
			}
		}
		if v, why := judgeByStretches(g, s); v != c.want || !strings.Contains(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: %v %q, want %v %q", name, v, why, c.want, c.why)
		}
	}
}

// TestJudgeCountsTheBadAsSlow: what fails, or is answered 5xx at once, is slower than any, also
// where it is too little to miss the goal alone.
func TestJudgeCountsTheBadAsSlow(t *testing.T) {
	g := Goal{Text: "p99 < 20ms", quantile: .99, limit: 20 * time.Millisecond}
	for _, c := range []struct {
		refused, failed, slow int // of a thousand
		want                  rateVerdict
	}{
		{0, 0, 9, rateHolds},
		{9, 0, 9, rateFails},
		{0, 9, 9, rateFails},
		{4, 4, 9, rateFails},
		{4, 4, 1, rateHolds},
		{9, 0, 0, rateHolds},
	} {
		s := &step{load: &loadgen.Result{Statuses: map[int]int64{}}}
		for i := range s.stretches {
			s.load.Failed += int64(c.failed) // without a time
			for k := range 1000 - c.failed {
				d, status := time.Millisecond, 200
				switch {
				case k < c.refused:
					status = 503
				case k < c.refused+c.slow:
					d = time.Second
				}
				s.stretches[i].Record(d)
				s.load.Answered++
				s.load.Statuses[status]++
			}
		}
		if v, why := judgeByStretches(g, s); v != c.want {
			t.Errorf("%+v: %v %q", c, v, why)
		}
	}
}

func TestGoal(t *testing.T) {
	var g Goal
	if err := g.Set(" p99.9 < 1.5s "); err != nil || g.Text != "p99.9 < 1.50 s" || math.Abs(g.quantile-.999) > 1e-12 ||
		g.limit != 1500*time.Millisecond {
		t.Errorf("%+v, %v", g, err)
	}
	for _, text := range []string{
		"", "p99", "p99 > 20ms", "p100 < 1s", "p0<1s", "pNaN<1s", "99<1s", "p99<20",
		"p99<-1s", "p99<0s", "mean<1s",
	} {
		if g.Set(text) == nil {
			t.Errorf("%q is taken for a condition", text)
		}
	}
}

func TestStagesFlag(t *testing.T) {
	s, err := parseStages("10:500, 1m:500-5000,.1:0")
	if err != nil {
		t.Fatal(err)
	}
	want := []loadgen.Stage{
		{From: 500, To: 500, Duration: 10 * time.Second},
		{From: 500, To: 5000, Duration: time.Minute},
		{Duration: 100 * time.Millisecond},
	}
	if !slices.Equal(s, want) {
		t.Errorf("%+v", s)
	}
	o := loadgen.Options{Stages: s}
	if d := loadDuration(&o); d != 70100*time.Millisecond {
		t.Errorf("%v long", d)
	}
	Steady(&o)
	if o.Stages != nil || math.Abs(o.Rate-(5000+2750*60)/70.1) > 1e-6 {
		t.Errorf("%+v on average", o.Rate)
	}
	trace := make([]time.Duration, 60_000) // a thousand a second
	for i := range trace {
		trace[i] = time.Duration(i) * time.Millisecond
	}
	for _, z := range []time.Duration{0, 10 * time.Second, time.Hour} {
		o := loadgen.Options{Times: trace, Duration: z, Arrivals: loadgen.ArrivalsTimes}
		if Steady(&o); math.Abs(o.Rate-1000) > 1 || o.Times != nil || o.Arrivals != loadgen.ArrivalsConstant {
			t.Errorf("-z %v of a trace of a minute: %v/s, %v", z, o.Rate, o.Arrivals)
		}
	}
	for _, text := range []string{"", "500", "10s", "10s:", ":500", "10s:a", "10s:1-b", "-1s:5", "10s:500,"} {
		if _, err := parseStages(text); err == nil {
			t.Errorf("%q is taken for stages", text)
		}
	}
}

// TestFindLateGenerator: a rate that the load generator did not keep itself says nothing of the
// service.
func TestFindLateGenerator(t *testing.T) {
	var out, said bytes.Buffer
	measure := simulated(5000)
	f := &Finder{
		app:  &cli.App{Stdout: &out, Stderr: &said},
		load: loadgen.Options{Duration: 20 * time.Second, Rate: 6000},
		measure: func(ctx context.Context, o loadgen.Options, label string) (*loadgen.Result, error) {
			r, err := measure(ctx, o, label)
			if o.Rate > 2000 {
				r.Pacer.RecordN(10*time.Second, r.Answered) // as late as the slowest
			}
			return r, err
		},
		file: &runfile.File{Version: runfile.Version},
	}
	if err := f.goal.Set("p99<20ms"); err != nil {
		t.Fatal(err)
	}
	if err := f.Find(t.Context(), filepath.Join(t.TempDir(), "find.json")); err != nil {
		t.Logf("find: %v", err)
	}
	if !strings.Contains(said.String(), "the load generator did not keep this rate itself") ||
		strings.Contains(said.String(), "p99 < 20 ms fails") || strings.Contains(out.String(), ", and not at ") {
		t.Errorf("it says\n%s%s", said.String(), out.String())
	}
}

// Where a step knows, the answer is within 5% and takes at most 12 steps, from any start.
func TestSearchBisects(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 0))
	for range 5000 {
		capacity := math.Exp(rnd.Float64()*math.Log(1e6) - 2) // 0.14 to 135,000
		start := max(loadgen.MinRate, min(loadgen.MaxRate, capacity*math.Exp((rnd.Float64()*2-1)*math.Log(4000))))
		step := func(_ context.Context, rate float64) (rateVerdict, error) {
			if rate <= capacity {
				return rateHolds, nil
			}
			return rateFails, nil
		}
		f, err := searchRate(t.Context(), start, loadgen.MinRate, step)
		if err != nil || f.holds > capacity || f.fails < capacity || f.holds < capacity/1.05 ||
			f.steps > searchSteps || f.unknown != 0 {
			t.Fatalf("capacity %v, start %v: %+v, %v", capacity, start, f, err)
		}
	}
}

// queue is M/M/1: requests at random, served one after the other. Its p99 is computed:
// the time in it is exponential with the rate service - arrivals.
type queue struct {
	service float64 // requests per second
	rnd     *rand.Rand
}

func (q *queue) quantile(p, rate float64) float64 {
	if rate >= q.service {
		return math.Inf(1)
	}
	return -math.Log(1-p) / (q.service - rate)
}

// capacity is the rate at which the p-quantile is limit seconds.
func (q *queue) capacity(p, limit float64) float64 { return q.service + math.Log(1-p)/limit }

// below simulates n requests and reports whether their p-quantile is below limit seconds, by Lindley's recursion.
func (q *queue) below(p, limit, rate float64, n int) bool {
	above, wait := 0, 0.0
	for range n {
		took := wait + q.rnd.ExpFloat64()/q.service
		if took > limit {
			above++
		}
		wait = max(0, took-q.rnd.ExpFloat64()/rate)
	}
	return float64(above) < (1-p)*float64(n)
}

// A step that measures: seven stretches of a simulated queue. All of them below the limit, or all
// above it, is a verdict (one side of a sign test at 1/128), else it is inconclusive.
func TestSearchQueue(t *testing.T) {
	const limit, p = .02, .99
	for seed, service := range []float64{1000, 5000, 30000} {
		q := &queue{service, rand.New(rand.NewPCG(uint64(seed), 1))}
		want := q.capacity(p, limit)
		if got := q.quantile(p, want); math.Abs(got-limit) > 1e-9 {
			t.Fatalf("p99 at %v is %v", want, got)
		}
		step := func(_ context.Context, rate float64) (rateVerdict, error) {
			below := 0
			for range 7 {
				if q.below(p, limit, rate, 20_000) {
					below++
				}
			}
			switch below {
			case 7:
				return rateHolds, nil
			case 0:
				return rateFails, nil
			}
			return rateUnknown, nil
		}
		f, err := searchRate(t.Context(), 100, loadgen.MinRate, step)
		if err != nil || f.steps > searchSteps || math.Abs(f.holds/want-1) > .05 {
			t.Errorf("service at %v/s: found %v/s, computed %v/s: %+v, %v", service, f.holds, want, f, err)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	always := func(v rateVerdict) func(context.Context, float64) (rateVerdict, error) {
		return func(context.Context, float64) (rateVerdict, error) { return v, nil }
	}
	odd := errors.New("odd")
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx  context.Context
		step func(context.Context, float64) (rateVerdict, error)
		want foundRates
		err  error
	}{
		"all hold":     {t.Context(), always(rateHolds), foundRates{holds: loadgen.MaxRate, steps: 8}, nil},
		"none holds":   {t.Context(), always(rateFails), foundRates{fails: 1, steps: 4}, nil},
		"inconclusive": {t.Context(), always(rateUnknown), foundRates{unknown: 1, steps: 4}, nil},
		"a step's fail": {
			t.Context(), func(context.Context, float64) (rateVerdict, error) { return 0, odd }, foundRates{}, odd,
		},
		"interrupted": {ctx, func(context.Context, float64) (rateVerdict, error) {
			cancel()
			return rateHolds, nil
		}, foundRates{holds: 10, steps: 1}, context.Canceled},
	} {
		if f, err := searchRate(c.ctx, 10, 1, c.step); !errors.Is(err, c.err) || f != c.want {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	// A rate that is not decided bounds the result, and the search says which one above it fails.
	f, err := searchRate(t.Context(), 800, loadgen.MinRate, func(_ context.Context, rate float64) (rateVerdict, error) {
		switch {
		case rate < 1000:
			return rateHolds, nil
		case rate < 1200:
			return rateUnknown, nil
		}
		return rateFails, nil
	})
	if err != nil || f.holds < 950 || f.unknown < 1000 || f.unknown > 1050 || f.fails < 1200 {
		t.Errorf("%+v, %v", f, err)
	}
}
