package tailstat

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev"
)

// exact is a latency of each request, in increasing order.
type exact []time.Duration

func (l exact) Count() int64 { return int64(len(l)) }

func (l exact) Quantile(q float64) time.Duration {
	return l[max(0, int(math.Ceil(q*float64(len(l))))-1)]
}

func (l exact) All() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		for _, d := range l {
			if !yield(d, 1) {
				return
			}
		}
	}
}

// evenly returns n latencies from step to n times step.
func evenly(n int, step time.Duration) (l exact) {
	for i := range n {
		l = append(l, time.Duration(i+1)*step)
	}
	return l
}

// runs returns n runs of 10,000 requests whose logarithms vary by the deviation given, in rounds.
func runs(rng *rand.Rand, n int, slower, deviation float64) (rs []Run) {
	for i := range n {
		f := slower * math.Exp(deviation*rng.NormFloat64())
		rs = append(rs, Run{
			Round: i + 1, Latency: evenly(10_000, time.Duration(1000*f)),
			Values: map[string]float64{"requests/s": 1000 / f, "CPU/request": 5e-5 * f, "peak memory": 1e8 * f},
		})
	}
	return rs
}

// TestFigures holds the figures of a run against numbers worked out by hand.
func TestFigures(t *testing.T) {
	values := map[string]float64{"requests/s": 300, "CPU/request": .001, "peak memory": 5}
	r := &Run{Latency: evenly(10_000, time.Microsecond), Values: values}
	want := map[string]float64{
		"p50": .005, "p90": .009, "p99": .0099, "p99.9": .00999, "slowest 1%": (.009901 + .01) / 2,
		"slowest 0.1%": (.009991 + .01) / 2,
		"requests/s":   300, "CPU/request": .001, "peak memory": 5,
	}
	all := Figures()
	for _, f := range all {
		if got, err := f.Of(r); err != nil || math.Abs(got/want[f.Name]-1) > 1e-9 {
			t.Errorf("%s is %v, %v, want %v", f.Name, got, err, want[f.Name])
		}
		if _, err := f.Of(&Run{}); err == nil {
			t.Errorf("%s of nothing has no error", f.Name)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d figures, want %d", len(all), len(want))
	}
	r.Latency = evenly(9999, time.Microsecond)
	if _, err := Quantile(.999).Of(r); err == nil || err.Error() != "9999 requests; p99.9 needs 10000" {
		t.Error(err)
	}
	// The slowest 1% of 150 latencies are one and a half of them.
	if got := slowestMean(evenly(150, time.Second), .01); math.Abs(got-(150+.5*149)/1.5) > 1e-9 {
		t.Error(got)
	}
}

// TestCompare compares runs in rounds, which the day slows together, by their rounds, and others all with all.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	base, head := runs(rng, 10, 1, .02), runs(rng, 10, 1.2, .02)
	for _, paired := range []bool{true, false} {
		if !paired {
			for i := range base {
				base[i].Round, head[i].Round = 0, 0
			}
		}
		rng.Shuffle(len(head), func(i, j int) { head[i], head[j] = head[j], head[i] })
		c, err := Compare(base, head, Options{})
		if err != nil || c.Paired != paired || c.Base != 10 || c.Head != 10 || len(c.Result) != 9 ||
			math.Abs(c.Level-(1-.05/9)) > 1e-12 {
			t.Fatalf("%+v, %v", c, err)
		}
		for _, r := range c.Result {
			want := 1.2
			if r.Figure == "requests/s" {
				want = 1 / 1.2
			}
			if r.Verdict != VerdictSlower || !r.Within.Contains(want) || math.Abs(r.Ratio/want-1) > .03 || r.P > .005 ||
				r.Missing != "" {
				t.Errorf("paired %v: %+v", paired, r)
			}
			if x, ok := r.Detectable(0); !ok || x < 1.01 || x > 1.1 {
				t.Errorf("paired %v: %s: %v can be shown, %v", paired, r.Figure, x, ok)
			}
		}
		back, err := Compare(head, base, Options{})
		if err != nil || back.Result[0].Verdict != VerdictFaster || back.Result[6].Verdict != VerdictFaster {
			t.Errorf("the other way: %+v, %v", back, err)
		}
		same, err := Compare(base, runs(rng, 10, 1, .02), Options{})
		if err != nil || same.Result[2].Verdict != VerdictInconclusive || !same.Result[2].Within.Contains(1) {
			t.Errorf("the same: %+v, %v", same, err)
		}
	}
}

// TestRoundsCancel sees a difference that the machine's good and bad minutes hide from who does not pair.
func TestRoundsCancel(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	base, head := runs(rng, 10, 1, .02), runs(rng, 10, 1.2, .02)
	for i := range base {
		f := math.Exp(rng.NormFloat64())
		base[i].Latency = evenly(1000, time.Duration(1e5*f))
		head[i].Latency = evenly(1000, time.Duration(1.2e5*f))
	}
	o := Options{Figures: []Figure{Quantile(.99)}}
	c, err := Compare(base, head, o)
	if err != nil || c.Result[0].Verdict != VerdictSlower {
		t.Errorf("%+v, %v", c, err)
	}
	head[0].Round = 11 // no longer of a round
	if c, err = Compare(base, head, o); err != nil || c.Paired || c.Result[0].Verdict != VerdictInconclusive {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestSpoilt has runs that a neighbour made a hundred times as slow: the answer stays.
func TestSpoilt(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	base, head := runs(rng, 12, 1, .02), runs(rng, 12, 1.2, .02)
	base[3].Latency, head[7].Latency = evenly(10_000, 100_000), evenly(10_000, 100_000)
	c, err := Compare(base, head, Options{Figures: []Figure{Quantile(.99)}})
	if r := c.Result[0]; err != nil || r.Verdict != VerdictSlower || math.Abs(r.Ratio/1.2-1) > .05 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestFew has too few runs for a verdict, and says how many it takes.
func TestFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 4))
	one := Options{Figures: []Figure{Quantile(.99)}}
	for _, n := range []int{2, 5} {
		c, err := Compare(runs(rng, n, 1, .01), runs(rng, n, 5, .01), one)
		if err != nil {
			t.Fatal(err)
		}
		r := c.Result[0]
		if r.Verdict != VerdictInconclusive || r.Within != (Interval{0, math.Inf(1)}) || math.Abs(r.Ratio-5) > .5 {
			t.Errorf("%+v", r)
		}
		if x, ok := r.Detectable(0); ok || x != 0 {
			t.Errorf("%d rounds show %v", n, x)
		}
		if runs, ok := r.Needed(2); !ok || runs != 6 {
			t.Errorf("%d runs needed, %v, want 6", runs, ok)
		}
		text, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(text), `"within":[null,null]`) ||
			!strings.Contains(string(text), `"verdict":"inconclusive"`) {
			t.Errorf("%s, %v", text, err)
		}
	}
	for want, o := range map[int]Options{6: one, 9: {}} {
		if got, err := Fewest(o); got != want || err != nil {
			t.Errorf("fewest: %d, %v, want %d", got, err, want)
		}
	}
}

// TestBad gives Compare what it cannot use.
func TestBad(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 5))
	good := runs(rng, 6, 1, .1)
	of := func(x float64) Options {
		return Options{Figures: []Figure{{"x", false, func(*Run) (float64, error) { return x, nil }}}}
	}
	loose := runs(rng, 5, 1, .1)
	for _, c := range []struct {
		base, head []Run
		o          Options
		want       string
	}{
		{nil, good, Options{}, "no run of base; measure it as often"},
		{good, nil, Options{}, "no run of head"},
		{good, good[:1], Options{}, "one run of head does not show how runs vary; measure 9 rounds at least"},
		{good, good, of(math.NaN()), "x of run 1 of base is NaN; the run is damaged, measure it again"},
		{good, good, of(math.Inf(1)), "is +Inf"},
		{good, good, of(-1), "is -1"},
		{good, good, Options{Confidence: 95}, "Options.Confidence: 95 is not from 0.5 to 1"},
		{good, good, Options{Confidence: math.NaN()}, "Options.Confidence"},
		{good, good, Options{Rounds: -1}, "Options.Rounds: -1 is not from 0 to 200"},
		{good, good, Options{Rounds: 5}, "Options.Rounds: 6 rounds are more than the 5"},
		{good, loose, Options{Rounds: 20}, "Options.Rounds: these runs are not in rounds"},
		{good, good, Options{Figures: []Figure{}}, "Options.Figures: it is empty"},
		{good, good, Options{Figures: []Figure{{Name: "x"}}}, `Options.Figures: number 0 ("x") lacks a name or Of`},
	} {
		_, err := Compare(c.base, c.head, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		var o *evenkeel.OptionError
		if errors.As(err, &o) != strings.Contains(c.want, "Options.") {
			t.Errorf("%T: %v", err, err)
		}
	}
}

// TestMissing leaves out figures that a run does not have, and says why.
func TestMissing(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 6))
	base, head := runs(rng, 9, 1, .1), runs(rng, 9, 1, .1)
	head[2].Latency = evenly(500, 1)
	delete(head[3].Values, "peak memory")
	c, err := Compare(base, head, Options{})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]string{}
	for _, r := range c.Result {
		if r.Missing != "" {
			missing[r.Figure] = r.Missing
			_, detectable := r.Detectable(0)
			if _, ok := r.Needed(1.2); ok || detectable || r.Ratio != 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	want := map[string]string{"peak memory": "run 4 of head: not measured"}
	for f, n := range map[string]int{"p99": 1000, "p99.9": 10_000, "slowest 1%": 1000, "slowest 0.1%": 10_000} {
		want[f] = fmt.Sprintf("run 3 of head: 500 requests; %s needs %d", f, n)
	}
	if !reflect.DeepEqual(missing, want) {
		t.Errorf("%v, want %v", missing, want)
	}
}

// TestValues compares by a figure that is no other's, and leaves it out where a run lacks it.
func TestValues(t *testing.T) {
	var base, head []Run
	for i := range 6 {
		base = append(base, Run{Round: i + 1, Values: map[string]float64{"rows/s": 100 + float64(i)}})
		head = append(head, Run{Round: i + 1, Values: map[string]float64{"rows/s": 200 + float64(i)}})
	}
	o := Options{Figures: []Figure{Value("rows/s", true)}}
	c, err := Compare(base, head, o)
	if r := c.Result[0]; err != nil || r.Verdict != VerdictFaster || math.Abs(r.Ratio-2) > .05 {
		t.Errorf("%+v, %v", r, err)
	}
	head[4].Values = nil
	if c, err = Compare(base, head, o); err != nil || c.Result[0].Missing != "run 5 of head: not measured" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestEqual compares runs without any noise.
func TestEqual(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 7))
	base := runs(rng, 10, 1, 0)
	c, err := Compare(base, slices.Clone(base), Options{})
	if r := c.Result[2]; err != nil || r.Verdict != VerdictInconclusive || r.Ratio != 1 || r.Within != (Interval{
		1,
		1,
	}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestPower plants what Detectable and Needed promise, and counts how often it is found.
func TestPower(t *testing.T) {
	const rounds, comparisons, deviation = 40, 60, .1
	rng := rand.New(rand.NewPCG(15, 8))
	o := Options{Figures: []Figure{Value("x", false)}}
	for _, paired := range []bool{true, false} {
		some := func(n int, slower float64) (rs []Run) {
			for i := range n {
				r := Run{Values: map[string]float64{"x": slower * math.Exp(deviation*rng.NormFloat64())}}
				if paired {
					r.Round = i + 1
				}
				rs = append(rs, r)
			}
			return rs
		}
		c, err := Compare(some(rounds, 1), some(rounds, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		r := &c.Result[0]
		needed, found := r.Needed(1.15)
		if !found || needed < 8 || needed > 20 {
			// by the normal distribution: (1.96+0.84)² 2 deviation²/(log 1.15)² = 8
			t.Fatalf("%d needed, %v", needed, found)
		}
		detectable, ok := r.Detectable(0)
		if !ok {
			t.Fatal("40 runs show nothing")
		}
		for n, ratio := range map[int]float64{rounds: detectable, needed: 1.15} {
			found := 0
			for range comparisons {
				c, err := Compare(some(n, 1), some(n, ratio), o)
				if err != nil {
					t.Fatal(err)
				}
				if c.Result[0].Verdict == VerdictSlower {
					found++
				}
			}
			t.Logf("paired %v: %d runs with a ratio of %.3f: found in %d of %d", paired, n, ratio, found, comparisons)
			if found < comparisons/2 {
				t.Errorf("paired %v: %d runs with a ratio of %.3f: found in %d of %d", paired, n, ratio, found,
					comparisons)
			}
		}
		fewer, ok := r.Detectable(rounds / 2)
		if same, _ := r.Detectable(rounds); !ok || same != detectable || fewer <= detectable {
			t.Errorf("half the rounds show %v, all of them %v, as they did %v", fewer, same, detectable)
		}
		if _, ok := r.Detectable(-1); ok {
			t.Error("a negative number of runs shows something")
		}
		if _, ok := r.Needed(1); ok {
			t.Error("no difference needs no runs")
		}
		if _, ok := r.Needed(1.0001); ok {
			t.Errorf("1.0001 is found with %d runs", MaxNeeded)
		}
	}
}

// TestVerdict writes verdicts, and refuses what is none.
func TestVerdict(t *testing.T) {
	for want, v := range map[string]Verdict{"faster": VerdictFaster, "slower": VerdictSlower} {
		if text, err := v.MarshalText(); err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
	if text, err := Verdict(9).MarshalText(); err == nil {
		t.Errorf("%s", text)
	}
}

// FuzzCompare compares runs of any numbers: an error, or an interval around the ratio that agrees with the verdict.
func FuzzCompare(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint8(2), true, uint8(0))
	f.Add(make([]byte, 160), uint8(10), true, uint8(20))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255}, uint8(1), false, uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, split uint8, paired bool, rounds uint8) {
		var runs []Run
		for i := 0; i+8 <= len(raw) && i < 8*64; i += 8 {
			x := math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
			runs = append(runs, Run{Values: map[string]float64{"x": x}})
		}
		n := min(int(split), len(runs))
		base, head := runs[:n], runs[n:]
		if paired {
			head = head[:min(len(head), n)]
			for i := range base {
				base[i].Round = i + 1
			}
			for i := range head {
				head[i].Round = i + 1
			}
		}
		c, err := Compare(base, head, Options{
			// each other number takes its draws
			Figures: []Figure{Value("x", true)},
			Rounds:  10 * (int(rounds) % 3),
		})
		if err != nil {
			return
		}
		r := c.Result[0]
		if r.Missing != "" {
			return
		}
		tolerant := Interval{r.Within.Low * (1 - 1e-9), r.Within.High * (1 + 1e-9)}
		if !tolerant.Contains(r.Ratio) || !(r.P >= 0 && r.P <= 1) ||
			r.Within.Contains(1) != (r.Verdict == VerdictInconclusive) {
			t.Errorf("%+v", r)
		}
		if x, ok := r.Detectable(0); ok && !(x >= 1) {
			t.Errorf("%v can be shown", x)
		}
	})
}
