package loadgen

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

// recorded is what a recorder has of a load of 8 requests/s over 3 connections, after some requests were recorded.
func recorded(r *recorder, started time.Time) *Result {
	res := r.result()
	res.Targets, res.Connections, res.Rate, res.Timeout, res.Started = []string{"GET http://x/"}, 3, 8, time.Second,
		started
	return res
}

// TestMergeIsOneGenerator records each of many requests with one of four generators and with one that has them all: the
// sum of the four is the one's result, down to the last count.
func TestMergeIsOneGenerator(t *testing.T) {
	const n, seed, second = 4, 1, int64(time.Second)
	for _, open := range []bool{true, false} {
		rnd := rand.New(rand.NewPCG(seed, 0))
		all := newRecorder(open, 7)
		var parts [n]*recorder
		kinds := []TargetClass{{Name: "read", Share: .5}, {Name: "write", Share: .5}}
		for i := range parts {
			parts[i] = newRecorder(open, 7)
		}
		for _, r := range append(parts[:], all) {
			r.classify(kinds, func(j job) int { return int(j.due % 2) })
		}
		for range 2000 {
			// Over 8 s, so that intervals are joined; in 20 of them: each has a histogram in each generator.
			due := 7 + rnd.Int64N(20)*second/2 + rnd.Int64N(second/500)
			sent := due + rnd.Int64N(int64(3*time.Millisecond))
			end := sent + int64(math.Exp(rnd.Float64()*math.Log(1e10)))
			for _, r := range []*recorder{all, parts[rnd.IntN(n)]} {
				r.pacer.Record(time.Duration(sent - due))
				switch k := due % 40; {
				case k < 36:
					r.answered(job{due: due}, sent, end, answer{status: 200 + int(k), bytes: k})
				case k < 38:
					r.failed(job{due: due}, sent, end, syscall.ECONNREFUSED)
				case k < 39:
					r.failed(job{due: due}, sent, end, syscall.ECONNRESET)
				default:
					r.failed(job{due: due}, end, end, errUnsent)
				}
			}
		}
		started := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
		want := recorded(all, started)
		want.Rate, want.Connections = n*want.Rate, n*want.Connections
		var results []*Result
		for _, p := range parts {
			results = append(results, throughJSON(t, recorded(p, started)))
		}
		got, err := Merge(results...)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(toJSON(t, want), toJSON(t, got)); d != "" {
			t.Errorf("seed %d, open loop %v: -one generator +four of them\n%s", seed, open, d)
		}
		if got.Series.Points[0].Histogram == "" || got.Failed == 0 || got.Latency.Count() == 0 ||
			open == (got.Service.Count() == 0) ||
			len(got.Classes) != 2 || got.Classes[1].Answered == 0 || got.Classes[1].Failed == 0 ||
			got.Pacer.Count() != 2000 {
			t.Errorf("seed %d: too little was compared", seed)
		}
	}
}

func toJSON(t *testing.T, r *Result) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func throughJSON(t *testing.T, r *Result) *Result {
	t.Helper()
	var back Result
	if err := json.Unmarshal([]byte(toJSON(t, r)), &back); err != nil {
		t.Fatal(err)
	}
	return &back
}

// one is a result of one request.
func one() *Result {
	r := newRecorder(true, 0)
	r.answered(job{}, 0, int64(time.Millisecond), answer{status: 200})
	return recorded(r, time.Unix(1e9, 0))
}

// TestMergeOfOneIsItself leaves what it was given as it was.
func TestMergeOfOneIsItself(t *testing.T) {
	r := one()
	before := toJSON(t, r)
	for range 2 {
		got, err := Merge(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, toJSON(t, got)); d != "" {
			t.Error(d)
		}
	}
	if d := cmp.Diff(before, toJSON(t, r)); d != "" {
		t.Errorf("merging changed what was merged:\n%s", d)
	}
}

// TestMergeAddsRates has three thirds of a rate be the rate, which compare holds against another's.
func TestMergeAddsRates(t *testing.T) {
	for _, n := range []int{3, 7, 8, 11, 49} {
		var list []*Result
		for range n {
			r := one()
			r.Rate = 1000 / float64(n)
			list = append(list, r)
		}
		if got, err := Merge(list...); err != nil || got.Rate != 1000 {
			t.Errorf("%d shares of 1000: %v, %v", n, got.Rate, err)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	other := func(lowest, highest int64, digits int) Histogram {
		h := hdr.New(lowest, highest, digits)
		_ = h.RecordValue(5000)
		return Histogram{h}
	}
	for _, tt := range []struct {
		name   string
		change func(*Result)
		want   string
	}{
		{
			"targets", func(r *Result) { r.Targets = []string{"GET http://y/"} },
			"other targets, GET http://y/ in place of GET http://x/: give",
		},
		{"loop", func(r *Result) { r.Rate = 0 }, "open loop"},
		{"more targets", func(r *Result) { r.MoreTargets = 1 }, "other targets"},
		{
			"classes", func(r *Result) { r.Classes = []TargetClass{{Name: "read", Share: 1}} },
			"other classes or weights",
		},
		{
			"protocol", func(r *Result) { r.Protocol, r.Streams = ProtocolHTTP2, 10 },
			"10 streams a connection, and others",
		},
		{"arrivals", func(r *Result) { r.Arrivals = ArrivalsPoisson }, "arrivals are poisson, and others' constant"},
		{"stages", func(r *Result) { r.Stages = []Stage{{1, 2, time.Second}} }, "stages of the same lengths"},
		{"timeout", func(r *Result) { r.Timeout = time.Hour }, "1h0m0s to be answered, and others 1s"},
		{"warm-up", func(r *Result) { r.Warmup = time.Hour }, "after 1h0m0s of warm-up"},
		{"interrupted", func(r *Result) { r.Interrupted = true }, "interrupted"},
		{
			"digits", func(r *Result) { r.Latency = other(histogramLowest, histogramHighest, 2) },
			"other buckets: measure",
		},
		{
			"bounds", func(r *Result) { r.Latency = other(1, histogramHighest, 3) },
			"other buckets",
		},
		{"bounds of the service's", func(r *Result) { r.Service = other(1, histogramHighest, 3) }, "other buckets"},
		{"no series", func(r *Result) { r.Series = Series{} }, "no figures over time"},
		{"interval", func(r *Result) { r.Series.Interval = 8 * time.Millisecond }, "do not fit whole"},
		{"interval 0", func(r *Result) { r.Series.Interval = 0 }, "intervals of 0s"},
		{"percentiles only", func(r *Result) { r.Series.Points[0].Histogram = "" }, "cannot be added: measure again"},
		{"no histogram", func(r *Result) { r.Series.Points[0].Histogram = "AAAA" }, "base64"},
		{"point's digits", func(r *Result) {
			h := other(histogramLowest, histogramHighest, 3)
			r.Series.Points[0].Histogram = textOf(t, h)
		}, "figures over time: its histogram has other buckets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := one()
			tt.change(bad)
			_, err := Merge(one(), bad)
			var me *MergeError
			if !errors.As(err, &me) || me.Index != 1 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want result 1 and %q", err, tt.want)
			}
		})
	}
	if _, err := Merge(); err == nil || !strings.Contains(err.Error(), "give at least one") {
		t.Errorf("of none: %v", err)
	}
}

// TestMergeOverload adds what was asked for and what came back; who was not behind had its rate.
func TestMergeOverload(t *testing.T) {
	behind, not := one(), one()
	behind.Overload = &Overload{Asked: 1000, Answered: 400, Backlog: 50, Text: "x"}
	behind.Stages, not.Stages = []Stage{{10, 20, time.Second}}, []Stage{{1, 2, time.Second}}
	got, err := Merge(behind, not)
	if err != nil {
		t.Fatal(err)
	}
	want := &Overload{
		Asked: 1008, Answered: 408, Backlog: 50,
		Text: "the service answered 408/s; 1,008/s is more than it can do",
	}
	if d := cmp.Diff(want, got.Overload); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Stage{{11, 22, time.Second}}, got.Stages); d != "" {
		t.Error(d)
	}
	if got, err := Merge(not, not); err != nil || got.Overload != nil {
		t.Errorf("%+v, %v", got.Overload, err)
	}
}

// TestMergeKnowsEachField fails when a figure is added to Result and Merge does not add it: say
// there what becomes of it, and its name here.
func TestMergeKnowsEachField(t *testing.T) {
	want := "Targets MoreTargets Connections Protocol Streams Rate Arrivals Seed Stages Timeout Warmup Started" +
		" Duration Interrupted " +
		"Unfinished UnfinishedMax" +
		" Answered Failed Statuses Failures Bytes Connects Latency Service Late LateMax Pacer Overload Classes Series" +
		" Name Share Answered Failed Statuses Failures Bytes Latency" +
		" From To Duration Asked Answered Backlog Generator Text" +
		" Interval Points Count Failed P50 P99 Max Histogram Class Count Example"
	var got []string
	for _, v := range []any{Result{}, TargetClass{}, Stage{}, Overload{}, Series{}, Point{}, Failure{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			got = append(got, f.Name)
		}
	}
	if d := cmp.Diff(strings.Fields(want), got); d != "" {
		t.Errorf("-what Merge knows +what there is\n%s", d)
	}
}

func textOf(t *testing.T, h Histogram) string {
	t.Helper()
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
