package load

import (
	"bytes"
	"context"
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
		want           loadgen.Verdict
		why            string
	}{
		"all below": {[findStretches]time.Duration{1e6, 1e6, 1e6, 9e6, 9e6}, 20, 0, 0, loadgen.VerdictHolds, ""},
		"all above": {
			[findStretches]time.Duration{11e6, 11e6, 11e6, 90e6, 90e6},
			20, 0, 0, loadgen.VerdictFails,
			"",
		},
		"one above": {
			[findStretches]time.Duration{1e6, 1e6, 11e6, 1e6, 1e6},
			20, 0, 0, loadgen.VerdictUnknown,
			"1.00 ms to 11.0 ms",
		},
		"too few": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6},
			9, 0, 0, loadgen.VerdictUnknown,
			"too few",
		},
		"5xx": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6},
			20, 11, 0, loadgen.VerdictFails,
			"11.0% failed",
		},
		"some failures": {[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6}, 20, 0, 5, loadgen.VerdictHolds, ""},
		"many fail": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6},
			20, 0, 50, loadgen.VerdictFails,
			"failed",
		},
		"a stretch empty": {
			[findStretches]time.Duration{1e6, 1e6, 1e6, 1e6},
			20, 0, 0, loadgen.VerdictUnknown,
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
		want                  loadgen.Verdict
	}{
		{0, 0, 9, loadgen.VerdictHolds},
		{9, 0, 9, loadgen.VerdictFails},
		{0, 9, 9, loadgen.VerdictFails},
		{4, 4, 9, loadgen.VerdictFails},
		{4, 4, 1, loadgen.VerdictHolds},
		{9, 0, 0, loadgen.VerdictHolds},
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
	var s stages
	const text = "10s:500,1m0s:500-5000,100ms:0"
	if err := s.Set("10:500, 1m:500-5000,.1:0"); err != nil || s.String() != text {
		t.Errorf("%v, %v", s, err)
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
		if s.Set(text) == nil {
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
