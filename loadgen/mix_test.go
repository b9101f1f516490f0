package loadgen

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev"
	"evenkeel.dev/internal/testutil"
)

func TestRound(t *testing.T) {
	for _, tt := range []struct {
		weights []int
		want    []int
	}{
		{[]int{0, 1, 0}, []int{0, 1, 2}},
		{[]int{7, 7}, []int{0, 1}},
		{[]int{3, 1}, []int{0, 0, 1, 0}},
		{[]int{1, 4, 1}, []int{1, 1, 0, 2, 1, 1}},
		{[]int{90, 10}, []int{0, 0, 0, 0, 0, 1, 0, 0, 0, 0}},
	} {
		var targets []Target
		for _, w := range tt.weights {
			targets = append(targets, Target{Weight: w})
		}
		got, err := Round(targets)
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%v: %v, -want +got %s", tt.weights, err, d)
		}
	}
	for _, tt := range []struct {
		targets []Target
		option  string
	}{
		{[]Target{{}, {Weight: -1}}, "Targets[1].Weight"},
		{[]Target{{Weight: math.MaxInt}}, "Targets[0].Weight"},
		{[]Target{{Weight: MaxTargets}, {Weight: MaxTargets - 1}}, "Targets"},
		{make([]Target, MaxTargets+1), "Targets"},
	} {
		var oe *evenkeel.OptionError
		if _, err := Round(tt.targets); !errors.As(err, &oe) || oe.Option != tt.option || oe.Reason == "" {
			t.Errorf("%v, want an error about %s", err, tt.option)
		}
	}
}

// TestClasses has a service tell the paths apart by their status and size.
func TestClasses(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int64{}
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/b" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte(strings.Repeat("x", len(r.URL.Path))))
	})
	targets := []Target{
		{URL: srv.URL + "/a", Weight: 6},
		{URL: srv.URL + "/b", Weight: 2, Class: "named"},
		{URL: srv.URL + "/ccc", Class: "named"},
		{URL: srv.URL + "/a", Weight: 1},
		{URL: "http://127.0.0.1:1/", Class: "nobody"},
	}
	for _, o := range []Options{{Connections: 3}, {Rate: 2000}} {
		clear(seen)
		o.Targets, o.Requests = targets, 22
		r := run(t, o)
		if d := cmp.Diff(map[string]int64{"/a": 14, "/b": 4, "/ccc": 2}, seen); d != "" {
			t.Errorf("rate %v: -want +got %s", o.Rate, d)
		}
		if len(r.Classes) != 3 {
			t.Fatalf("%d classes: %+v", len(r.Classes), r.Classes)
		}
		a, named, nobody := &r.Classes[0], &r.Classes[1], &r.Classes[2]
		if a.Name != "GET "+srv.URL+"/a" || a.Answered != 14 || a.Bytes != 28 || a.Share != 7./11 || a.Failed != 0 ||
			a.Statuses[200] != 14 {
			t.Errorf("%+v", a)
		}
		if named.Name != "named" || named.Answered != 6 ||
			named.Bytes != 16 || named.Share != 3./11 || named.Statuses[http.StatusTeapot] != 4 ||
			named.Latency.Count() != 6 {
			t.Errorf("%+v", named)
		}
		if nobody.Failed != 2 || nobody.Answered != 0 || len(nobody.Failures) != 1 ||
			nobody.Failures[0].Class != ClassRefused || nobody.Latency.Count() != 0 {
			t.Errorf("%+v", nobody)
		}
	}
	if r := run(t, Options{Targets: targets[:1], Requests: 3}); r.Classes != nil {
		t.Errorf("%d classes of one target; its figures are the result's", len(r.Classes))
	}
}

// TestManyClasses has more URLs than classes with figures.
func TestManyClasses(t *testing.T) {
	srv := serve(t, answerOK)
	var targets []Target
	for i := range 200 {
		targets = append(targets, Target{URL: fmt.Sprint(srv.URL, "/", i)})
	}
	targets[7].Class = "seven"
	r := run(t, Options{Targets: targets, Requests: 200})
	if len(r.Classes) != 2 || r.Classes[0].Name != otherTargets || r.Classes[0].Answered != 199 ||
		r.Classes[1].Name != "seven" || r.Classes[1].Answered != 1 {
		t.Errorf("%+v", r.Classes)
	}
	if len(r.Targets) != listedTargets || r.MoreTargets != 100 {
		t.Errorf("%d targets listed, %d more", len(r.Targets), r.MoreTargets)
	}
	for i := range targets {
		targets[i].Class = fmt.Sprint(i)
	}
	var oe *evenkeel.OptionError
	if err := Check(Options{Targets: targets}); !errors.As(err, &oe) || oe.Option != "Targets" {
		t.Errorf("200 classes: %v", err)
	}
}

// queueOf is a service with one server, as arithmetic: at(i) is when request i is due, takes(i) how
// long it takes. It returns the series of n requests.
func queueOf(n int, at, takes func(i int) time.Duration) *series {
	f, free := newSeries(), time.Duration(0)
	for i := range n {
		free = max(free, at(i)) + takes(i)
		f.at(int64(at(i))).count++
		f.ended(int64(at(i)), int64(free), true)
	}
	return f
}

func TestOverload(t *testing.T) {
	const ms = time.Millisecond
	every := func(d time.Duration) func(int) time.Duration {
		return func(i int) time.Duration { return time.Duration(i) * d }
	}
	always := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	for _, tt := range []struct {
		name string
		f    *series
		want string
	}{
		{
			"twice as much as it can", queueOf(4000, every(ms/2), always(ms)),
			"the service answered 1,000/s; 2,000/s is more than it can do",
		},
		{
			"a tenth more", queueOf(11000, every(10*ms/11), always(ms)),
			"the service answered 1,000/s; 1,100/s is more than it can do",
		},
		{"three quarters", queueOf(6000, every(4*ms/3), always(ms)), ""},
		{"too short to tell", queueOf(1000, every(ms/2), always(ms)), ""},
		{"a stall at the end", queueOf(5000, every(ms), func(i int) time.Duration {
			if i == 4500 {
				return 450 * ms
			}
			return ms / 2
		}), ""},
		{"a stall that is made up for", queueOf(5000, every(ms), func(i int) time.Duration {
			if i == 1000 {
				return time.Second
			}
			return ms / 2
		}), ""},
		{"slower in the second half", queueOf(5000, every(ms), func(i int) time.Duration {
			if i > 2000 {
				return 2 * ms
			}
			return ms / 2
		}), "the service answered 500/s; 1,000/s is more than it can do"},
		{"a long poll", func() *series {
			f := newSeries()
			for i := range 5000 {
				f.at(int64(i)*int64(ms)).count++
				f.ended(int64(i)*int64(ms), int64(i)*int64(ms)+int64(4*time.Second), true)
			}
			return f
		}(), ""},
	} {
		got := ""
		if o := tt.f.overload(0, 0, 0); o != nil {
			got = o.Text
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	f := queueOf(4000, every(ms/2), always(ms))
	if o := f.overload(2000, 0, 0); o.Asked != 2000 || o.Answered < 980 || o.Answered > 1020 || o.Backlog < 1900 ||
		o.Backlog > 2000 || o.Generator {
		t.Errorf("%+v", o)
	}
	for _, o := range []*Overload{f.overload(2000, int64(time.Second), 0), f.overload(2000, 0, 1500)} {
		if !o.Generator || !strings.HasPrefix(o.Text, "the load generator got to 1,000/s; ") {
			t.Errorf("%+v", o)
		}
	}
	for x, want := range map[float64]string{
		3559.4: "3,559", 1e6: "1,000,000", 999.6: "1,000", 12.345: "12.3",
		.5: "0.5", 100: "100",
	} {
		if got := perSecond(x); got != want {
			t.Errorf("%v/s is %q, want %q", x, got, want)
		}
	}
}

// TestOverloadOfAService has requests come twice as fast as the only connection can carry them,
// however slow the machine is.
func TestOverloadOfAService(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	o := Options{
		Targets: []Target{{URL: "http://h/"}}, Transport: roundTrip(func() { time.Sleep(2 * time.Millisecond) }),
		Connections: 1, Rate: 1000, Duration: 1200 * time.Millisecond, Drain: time.Millisecond,
	}
	r := run(t, o)
	for r.Overload == nil && o.Duration < patience/4 {
		// a machine that stood still for half of it has answered nothing then
		o.Duration *= 4
		r = run(t, o)
	}
	if r.Overload != nil && (r.Overload.Answered != r.Throughput() || r.Overload.Text != r.Overload.sentence()) {
		t.Errorf("%+v, and %v answers/s in all", r.Overload, r.Throughput())
	}
	if r.Overload == nil || r.Overload.Asked < 900 || r.Overload.Answered > 500 || r.Overload.Backlog == 0 {
		t.Errorf("%+v", r.Overload)
	}
	if n := r.Pacer.Count(); n == 0 || n > o.Duration.Milliseconds() {
		t.Errorf("the pacer's lateness is known of %d requests", n)
	}
	o.Rate, o.Duration = 0, 100*time.Millisecond
	if r := run(t, o); r.Overload != nil || r.Pacer.Count() != 0 {
		t.Errorf("closed loop: %+v, %d", r.Overload, r.Pacer.Count())
	}
}
