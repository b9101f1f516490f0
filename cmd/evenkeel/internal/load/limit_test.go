package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// judged is a run of which all figures are known: 980 requests of 1 to 98 ms, 10 each, and 20
// failed.
func judged() *runfile.Run {
	l := &loadgen.Result{
		Answered: 980, Failed: 20, Duration: 2 * time.Second, Late: 30,
		Statuses: map[int]int64{200: 970, 500: 10},
	}
	for i := range 980 {
		l.Latency.Record(time.Duration(i/10+1) * time.Millisecond)
	}
	var h loadgen.Histogram
	h.Record(time.Second)
	l.Classes = []loadgen.TargetClass{{Name: "GET http://h:80/<a>", Answered: 1, Latency: h}, {Name: "none"}}
	return &runfile.Run{Load: l}
}

func TestLoadLimits(t *testing.T) {
	for _, tt := range []struct{ limit, want string }{
		{"p99>96ms", "it is 97.1 ms"},
		{"p99 > 99 ms", ""},
		{"p50<49ms", ""},
		{"p50<60ms", "it is 49.0 ms"},
		{"p99.9>1s", ""},
		{"max>98.5ms", ""},
		{"max > 90ms", "it is 98.0 ms"},
		{"mean>49ms", "it is 49.5 ms"},
		{"mean>0.05s", ""},
		{"failed>2%", ""},
		{"failed>1.9%", "it is 2.0%"},
		{"failed>20", ""},
		{"failed>19", "it is 20"},
		{"bad>1%", "it is 1.0%"},
		{"bad>10", ""},
		{"late>2%", "it is 3.0%"},
		{"rate<490/s", ""},
		{"rate<491", "it is 490/s"},
		{"rate < 1000 /s", "it is 490/s"},
		{"rate>400/s", "it is 490/s"},
		{"GET http://h:80/<a>:p99>900ms", "it is 1.00 s"},
		{"GET http://h:80/<a>:failed>0", ""},
		{"none:p99>1s", "nothing to judge"},
		{"none:failed>1%", "nothing to judge"},
		{"gone:p99>1s", "nothing to judge"},
	} {
		var l Limits
		if err := cli.Each(&l, ParseLimit)(tt.limit); err != nil {
			t.Errorf("%s: %v", tt.limit, err)
			continue
		}
		hit, err := l.Check(judged())
		got := strings.Join(hit, "|")
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.limit, got, tt.want)
		}
	}
	r := judged()
	r.Load.Classes = nil // of one class alone there are no figures: they are the load's
	l := Limits{}
	if err := cli.Each(&l, ParseLimit)("only:p99>96ms"); err != nil {
		t.Fatal(err)
	}
	if hit, err := l.Check(r); len(hit) != 1 || err != nil {
		t.Error(hit, err)
	}
	if err := l.Known([]string{"a", "only"}); err != nil {
		t.Error(err)
	}
	if err := l.Known([]string{"a", "b"}); err == nil ||
		!strings.Contains(err.Error(), `no class "only"; there are a, b`) {
		t.Error(err)
	}
}

func TestLoadLimitIsWrong(t *testing.T) {
	for _, tt := range []struct{ limit, want string }{
		{"", "no > or <"},
		{"p99", "no > or <"},
		{"p99>20", "write it with its unit"},
		{"p99>-2ms", "not a duration"},
		{"p99>", "not a duration"},
		{"p100>2ms", "not a quantile"},
		{"p0>2ms", "not a quantile"},
		{"pNaN>2ms", "not a quantile"},
		{"p>2ms", "not a quantile"},
		{"latency>2ms", `no figure "latency"`},
		{">2ms", `no figure ""`},
		{":p99>2ms", "no class before the colon"},
		{"failed>x%", "neither a share nor a count"},
		{"failed>101%", "neither a share nor a count"},
		{"failed>-1", "neither a share nor a count"},
		{"failed>NaN%", "neither a share nor a count"},
		{"rate<fast", "write it as 1000/s"},
		{"rate<Inf/s", "write it as 1000/s"},
		{"a:late>3", "leave out \"a\""},
	} {
		var l Limits
		if err := cli.Each(&l, ParseLimit)(tt.limit); err == nil || !strings.Contains(err.Error(), tt.want) ||
			len(l) > 0 {
			t.Errorf("%q: %v, want %q", tt.limit, err, tt.want)
		}
	}
}

func FuzzLoadLimit(f *testing.F) {
	for _, s := range []string{"p99>20ms", "search:failed<0.1%", "rate<1000/s", "a<b:p1>1ns", ">", "p1e1>1s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimit(s)
		if err != nil {
			return
		}
		x, ok := l.of(judged().Load)
		if ok && (x < 0 || l.format(x) == "") || !(l.bound >= 0) {
			t.Errorf("%q: bound %v, figure %v", s, l.bound, x)
		}
	})
}

// TestFewDescriptors: more connections than descriptors are refused before the load, and the
// default is lowered.
func TestFewDescriptors(t *testing.T) {
	limit, known := descriptorLimit()
	if !known {
		t.Skip("no limit of descriptors here")
	}
	fitted := func(l *Flags, urls ...string) error {
		o, err := l.Options(urls)
		if err != nil {
			t.Fatal(err)
		}
		return Fit(&o)
	}
	err := fitted(&Flags{options: loadgen.Options{Connections: limit}}, "http://127.0.0.1:1/")
	if err == nil || !strings.Contains(err.Error(), "raise the limit with ulimit -n") ||
		!strings.Contains(err.Error(), fmt.Sprintf("or write -c %d", limit-ownDescriptors)) {
		t.Errorf("-c %d of %d descriptors: %v", limit, limit, err)
	}
	few := Flags{options: loadgen.Options{Connections: limit - ownDescriptors}}
	if err := fitted(&few, "http://127.0.0.1:1/"); err != nil {
		t.Error(err)
	}
	hosts := limit/defaultOpen + 2
	if hosts > 60000 {
		return // there are not so many ports
	}
	o := loadgen.Options{Rate: 10}
	for i := range hosts {
		o.Targets = append(o.Targets, loadgen.Target{URL: fmt.Sprintf("http://127.0.0.1:%d/", i+1)})
	}
	if err := Fit(&o); err != nil || o.Connections == 0 || o.Connections*hosts > limit {
		t.Errorf("%d connections to each of %d hosts, of %d descriptors: %v", o.Connections, hosts, limit, err)
	}
}
