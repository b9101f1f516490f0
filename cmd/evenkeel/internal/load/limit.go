package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// Limit is a -fail-if of a load.
type Limit struct {
	text   string
	class  string
	figure string
	less   bool
	bound  float64
	count  bool // bound is a number of requests
	format func(float64) string
}

const loadLimitForm = "write it as [CLASS:]FIGURE>VALUE or <VALUE, such as 'p99>20ms' or 'rate<1000/s'; " +
	"figures are pN, max, mean, failed, bad (not 2xx or 3xx), late (by over 1 ms) and rate"

type Limits []Limit

// ParseLimit splits at the last > or <, because a class may contain them.
func ParseLimit(s string) (Limit, error) {
	l := Limit{text: s}
	i := strings.LastIndexAny(s, "<>")
	if i < 0 {
		return l, fmt.Errorf("no > or < in it; %s", loadLimitForm)
	}
	what, value := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
	l.less = s[i] == '<'
	if k := strings.LastIndexByte(what, ':'); k >= 0 {
		l.class, what = strings.TrimSpace(what[:k]), strings.TrimSpace(what[k+1:])
		if l.class == "" {
			return l, fmt.Errorf("no class before the colon; %s", loadLimitForm)
		}
	}
	l.figure = what
	var err error
	switch {
	case what == "max", what == "mean":
		err = l.duration(value)
	case strings.HasPrefix(what, "p"):
		if _, ok := l.quantile(); !ok {
			return l, fmt.Errorf("%q is not a quantile; write p50, p99 or p99.9, above p0 and below p100", what)
		}
		err = l.duration(value)
	case what == "failed", what == "bad", what == "late":
		err = l.countOrShare(value)
		if l.class != "" && what == "late" {
			return l, fmt.Errorf("late is known of all requests together only: leave out %q", l.class)
		}
	case what == "rate":
		l.format = func(x float64) string { return textfmt.Count(x) + "/s" }
		l.bound, err = number(strings.TrimSpace(strings.TrimSuffix(value, "/s")))
		if err != nil {
			err = fmt.Errorf("%q is not a rate; write it as 1000/s", value)
		}
	default:
		err = fmt.Errorf("no figure %q; %s", what, loadLimitForm)
	}
	return l, err
}

func (l *Limit) duration(value string) error {
	d, err := time.ParseDuration(strings.ReplaceAll(value, " ", ""))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration; write it with its unit, such as 20ms or 1.5s", value)
	}
	l.bound, l.format = d.Seconds(), func(x float64) string { return textfmt.Duration(time.Duration(x * 1e9)) }
	return nil
}

func (l *Limit) countOrShare(value string) (err error) {
	digits, percent := strings.CutSuffix(value, "%")
	if l.bound, err = number(strings.TrimSpace(digits)); err != nil || percent && l.bound > 100 {
		return fmt.Errorf("%q is neither a share nor a count; write 0.1%% or 10", value)
	}
	l.count, l.format = !percent, textfmt.Count
	if percent {
		l.bound, l.format = l.bound/100, func(x float64) string { return textfmt.Percent(x * 100) }
	}
	return nil
}

func number(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err == nil && !(x >= 0 && x <= math.MaxFloat64) { // NaN too
		err = errors.New("not from 0 on")
	}
	return x, err
}

func (l *Limit) quantile() (q float64, ok bool) {
	digits, isQuantile := strings.CutPrefix(l.figure, "p")
	x, err := number(digits)
	return x / 100, isQuantile && err == nil && x > 0 && x < 100
}

// Known refuses a class that no target has.
func (l Limits) Known(classes []string) error {
	for _, x := range l {
		if x.class != "" && !slices.Contains(classes, x.class) {
			return fmt.Errorf("-fail-if %s: no class %q; there are %s", x.text, x.class,
				strings.Join(classes[:min(len(classes), 10)], ", "))
		}
	}
	return nil
}

// Check returns the limits that a run exceeds. Its error names those without requests.
func (l Limits) Check(r *runfile.Run) (hit []string, err error) {
	for _, x := range l {
		got, ok := x.of(r.Load)
		if !ok {
			err = errors.Join(err, fmt.Errorf("-fail-if %s: there is nothing to judge: no such request ended", x.text))
			continue
		}
		if x.less && got < x.bound || !x.less && got > x.bound {
			hit = append(hit, fmt.Sprintf("-fail-if %s: it is %s", x.text, x.format(got)))
		}
	}
	return hit, err
}

func (l *Limit) of(r *loadgen.Result) (x float64, ok bool) {
	c := loadgen.TargetClass{Answered: r.Answered, Failed: r.Failed, Statuses: r.Statuses, Latency: r.Latency}
	if l.class != "" && len(r.Classes) > 0 {
		i := slices.IndexFunc(r.Classes, func(c loadgen.TargetClass) bool { return c.Name == l.class })
		if i < 0 {
			return 0, false
		}
		c = r.Classes[i]
	}
	share := func(n, of int64) (float64, bool) {
		if l.count {
			return float64(n), true
		}
		return float64(n) / float64(max(of, 1)), of > 0
	}
	switch l.figure {
	case "max":
		return c.Latency.Max().Seconds(), c.Latency.Count() > 0
	case "mean":
		return c.Latency.Mean().Seconds(), c.Latency.Count() > 0
	case "rate":
		return r.Throughput() * float64(c.Answered) / float64(max(r.Answered, 1)), r.Duration > 0
	case "failed":
		return share(c.Failed, c.Answered+c.Failed)
	case "bad":
		return share(compare.NotOK(c.Statuses), c.Answered)
	case "late":
		return share(r.Late, r.Requests())
	}
	q, _ := l.quantile()
	return c.Latency.Quantile(q).Seconds(), c.Latency.Count() > 0
}

// CheckRuns returns an error if the runs measured nothing useful.
func CheckRuns(f *runfile.File) error {
	for _, r := range f.Runs {
		switch {
		case r.Load.Interrupted:
			return cli.ErrInterrupted
		case r.Load.FailedBy(loadgen.ClassGenerator) > 0:
			return generatorLimit(r.Load)
		case r.Load.Answered == 0 && len(r.Load.Failures) > 0:
			return fmt.Errorf("no request was answered: %s", r.Load.Failures[0].Example)
		case r.Load.Answered == 0:
			return errors.New("no request was answered")
		case compare.NotOK(r.Load.Statuses) >= r.Load.Answered:
			return fmt.Errorf("none of %s answers had a status of 2xx or 3xx; check the URL, the method and the scheme",
				textfmt.Count(float64(r.Load.Answered)))
		}
	}
	return nil
}

var ErrGenerator = errors.New("the load generator is at its own limit, and not the service")

func generatorLimit(l *loadgen.Result) error {
	i := slices.IndexFunc(l.Failures, func(f loadgen.Failure) bool { return f.Class == loadgen.ClassGenerator })
	return fmt.Errorf("%w: %s of %s requests failed here (%s); raise ulimit -n, lower -c, or use -share",
		ErrGenerator, textfmt.Count(float64(l.Failures[i].Count)), textfmt.Count(float64(l.Requests())),
		l.Failures[i].Example)
}
