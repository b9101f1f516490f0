package loadgen

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

// sameHistogram compares what two histograms hold.
var sameHistogram = cmp.Options{
	cmp.Comparer(func(a, b Histogram) bool { return buckets(a) == buckets(b) }),
}

func buckets(h Histogram) string {
	var b strings.Builder
	for d, n := range h.All() {
		fmt.Fprint(&b, d, n, ";")
	}
	return b.String()
}

func TestHistogramIsClose(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	var h Histogram
	var all []int64
	var sum float64
	for range 5000 {
		ns := int64(math.Exp(rnd.Float64() * math.Log(3.6e12))) // 1 ns to 1 h
		h.Record(time.Duration(ns))
		all = append(all, ns)
		sum += float64(ns)
	}
	slices.Sort(all)
	near := func(what string, got time.Duration, want float64) {
		t.Helper()
		if math.Abs(float64(got)-want) > max(.001*want, 512) {
			t.Errorf("seed %d: %s %v, want %v", seed, what, got, time.Duration(want))
		}
	}
	for _, q := range []float64{.01, .25, .5, .9, .99, .999, 1} {
		near(fmt.Sprint("quantile ", q), h.Quantile(q), float64(all[int(math.Ceil(q*5000))-1]))
	}
	near("max", h.Max(), float64(all[len(all)-1]))
	near("mean", h.Mean(), sum/5000)
	if h.Count() != 5000 {
		t.Errorf("count %d", h.Count())
	}
}

func TestHistogramEdges(t *testing.T) {
	var h Histogram
	if h.Count() != 0 || h.Quantile(.5) != 0 || h.Max() != 0 || h.Mean() != 0 || buckets(h) != "" {
		t.Error("the zero value is not empty")
	}
	h.Merge(&Histogram{})
	if h.h != nil {
		t.Error("merging nothing made something")
	}
	h.Record(time.Duration(-5))
	h.Record(time.Duration(math.MaxInt64))
	if h.Count() != 2 || h.Quantile(0) > time.Microsecond || h.Max().Round(time.Minute) != time.Hour {
		t.Errorf("%d, %v to %v", h.Count(), h.Quantile(0), h.Max())
	}
	for q, want := range map[float64]time.Duration{
		99: h.Quantile(1), 1.001: h.Quantile(1), math.Inf(1): h.Quantile(1), math.NaN(): h.Quantile(1),
		-1: h.Quantile(0), math.Inf(-1): h.Quantile(0),
	} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if h.Quantile(0) == h.Quantile(1) {
		t.Errorf("from %v to %v", h.Quantile(0), h.Quantile(1))
	}
	var sum Histogram
	sum.Merge(&h)
	sum.Merge(&h)
	if sum.Count() != 4 || h.Count() != 2 {
		t.Errorf("merged %d, of %d", sum.Count(), h.Count())
	}
}

// A histogram of another tool may reach further than ours: nothing is lost in the sum.
func TestHistogramMergeBeyond(t *testing.T) {
	wide, sum := Histogram{hdr.New(1, 1e14, 2)}, Histogram{}
	_ = wide.h.RecordValue(2 * histogramHighest)
	_ = wide.h.RecordValue(3 * histogramHighest)
	for range 2 {
		sum.Merge(&wide)
	}
	if sum.Count() != 4 || sum.Max().Round(time.Minute) != time.Hour {
		t.Errorf("%d, up to %v", sum.Count(), sum.Max())
	}
}

func TestHistogramJSON(t *testing.T) {
	for _, values := range [][]int64{nil, {1}, {0, 5e3, 5e3, 1e9, 3.6e12}} {
		var h, back Histogram
		for _, v := range values {
			h.Record(time.Duration(v))
		}
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		back.Record(time.Duration(77)) // decoding must forget it
		if err := json.Unmarshal(b, &back); err != nil || back.Count() != int64(len(values)) {
			t.Errorf("%s: %v, %d", b, err, back.Count())
		}
		if d := cmp.Diff(h, back, sameHistogram); d != "" {
			t.Error(d)
		}
	}
}

// TestHistogramBuckets holds what All yields, and Max, against the library's own bars, of
// histograms of all kinds that it decodes.
func TestHistogramBuckets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 0))
	for _, k := range []struct {
		lowest, highest int64
		digits          int
	}{
		{histogramLowest, histogramHighest, histogramDigits},
		{1, 1000, 1},
		{7, 1 << 40, 2},
		{1 << 20, 1 << 62, 1},
		{1000, 1 << 20, 4},
	} {
		h := hdr.New(k.lowest, k.highest, k.digits)
		for range 200 {
			_ = h.RecordValue(int64(math.Exp(rnd.Float64() * math.Log(float64(k.highest))))) // in range
		}
		text, err := h.EncodeV2()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := hdr.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []*hdr.Histogram{h, decoded} {
			var want strings.Builder
			for _, b := range h.Distribution() {
				if b.Count > 0 {
					fmt.Fprint(&want, time.Duration(b.To), b.Count, ";")
				}
			}
			if d := cmp.Diff(want.String(), buckets(Histogram{h})); d != "" {
				t.Errorf("%+v: -want +got %s", k, d)
			}
			own := Histogram{h}
			if own.Max() != time.Duration(h.Max()) {
				t.Errorf("%+v: at most %v, want %v", k, own.Max(), time.Duration(h.Max()))
			}
		}
	}
}

func TestHistogramJSONGarbage(t *testing.T) {
	var good Histogram
	good.Record(time.Duration(1e6))
	b, _ := json.Marshal(good)
	for _, in := range []string{
		"7", "{}", `"x"`, `"AAAA"`, `"AAAAAAAAAAAAAAAA"`, `"HISTFP////8="`, string(b[:len(b)/2]) + `"`,
		strings.Replace(string(b), "HISTF", "HISTE", 1),
	} {
		h := good
		if err := json.Unmarshal([]byte(in), &h); err == nil || in[0] == '"' && h.Count() != 0 {
			t.Errorf("%s: %v, %d", in, err, h.Count())
		}
	}
}

// The series keeps every count while it joins bins: compared with a map from interval to counts.
func TestSeries(t *testing.T) {
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		span := int64(seriesInterval) << rnd.IntN(16)
		s := newSeries()
		var times, failed []int64
		var longest int64
		for range 2000 {
			at := rnd.Int64N(span * 10)
			b := s.at(at)
			if rnd.IntN(10) == 0 {
				b.failed++
				failed = append(failed, at)
				continue
			}
			ns := rnd.Int64N(1e9)
			b.count++
			b.record(ns)
			times = append(times, at)
			longest = max(longest, ns)
		}
		got := s.result()
		if len(got.Points) > seriesBins || got.Interval < seriesInterval {
			t.Fatalf("seed %d: %d points of %v", seed, len(got.Points), got.Interval)
		}
		last := max(slices.Max(times), slices.Max(failed))
		if got.Interval > seriesInterval && last < int64(got.Interval)/2*seriesBins {
			t.Errorf("seed %d: %v is twice what %v needs", seed, got.Interval, time.Duration(last))
		}
		want := make([]Point, len(got.Points))
		for _, at := range times {
			want[at/int64(got.Interval)].Count++
		}
		for _, at := range failed {
			want[at/int64(got.Interval)].Failed++
		}
		var most time.Duration
		for i, p := range got.Points {
			most = max(most, p.Max)
			if p.P50 > p.P99 || p.P99 > p.Max || (p.Count > 0) != (p.Max > 0) {
				t.Errorf("seed %d: %+v", seed, p)
			}
			got.Points[i] = Point{Count: p.Count, Failed: p.Failed}
		}
		if d := cmp.Diff(want, got.Points, sameHistogram); d != "" {
			t.Errorf("seed %d:\n%s", seed, d)
		}
		if r := float64(most) / float64(longest); r < .99 || r > 1.01 {
			t.Errorf("seed %d: longest %v, want %v", seed, most, time.Duration(longest))
		}
	}
}

func TestResultJSON(t *testing.T) {
	srv := serve(t, answerOK)
	for _, o := range []Options{
		{Requests: 20, Connections: 2},
		{Requests: 20, Rate: 2000, Timeout: 5 * time.Second, Warmup: 5 * time.Millisecond},
		{Requests: 2, Transport: refuse{}, Connections: 1},
	} {
		o.Targets = []Target{{URL: srv.URL}, {Method: "HEAD", URL: srv.URL + "/x"}}
		r := run(t, o)
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, &back, sameHistogram); d != "" {
			t.Error(d)
		}
		if hasService := strings.Contains(string(b), `"service"`); hasService != (o.Rate > 0) {
			t.Errorf("rate %v: %s", o.Rate, b)
		}
		if want := []string{"GET " + srv.URL, "HEAD " + srv.URL + "/x"}; !slices.Equal(r.Targets, want) {
			t.Errorf("targets %q", r.Targets)
		}
	}
	if (&Result{Answered: 5}).Throughput() != 0 ||
		(&Result{Answered: 5, Duration: 2 * time.Second}).Throughput() != 2.5 {
		t.Error("throughput")
	}
}
