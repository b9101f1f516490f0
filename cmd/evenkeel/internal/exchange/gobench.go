package exchange

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// go test -bench prints a line for each run of a benchmark. A benchmark that measures each
// operation reports quantiles by b.ReportMetric(x, "p99-ns/op"), in ns, us, ms or s, with /op or
// without. Lines of one name (-count) are repeats.
//
//	BenchmarkSearch/warm-8   1000   1203 ns/op   1100 p50-ns/op   4100 p99-ns/op   96 B/op
var (
	benchLine  = regexp.MustCompile(`^(Benchmark\S*)\s+(\d+)\s+(\S.*)$`)
	benchUnit  = regexp.MustCompile(`^(?:p(\d+(?:\.\d+)?)|(median|max))[-_](ns|us|µs|ms|s)(?:/op|/req)?$`)
	benchProcs = regexp.MustCompile(`-\d+$`)
)

var benchUnits = map[string]time.Duration{
	"ns": 1, "us": time.Microsecond, "µs": time.Microsecond,
	"ms": time.Millisecond, "s": time.Second,
}

func readGoBench(r io.Reader, o Options) ([]runfile.Run, error) {
	var runs []runfile.Run
	repeats := map[string]int{}
	seen := 0
	err := lines(r, func(s string) error {
		m := benchLine.FindStringSubmatch(strings.TrimSpace(s))
		if m == nil {
			return nil // output of the tests, and lines such as ok and PASS
		}
		seen++
		run, err := benchRun(benchProcs.ReplaceAllString(m[1], ""), m[2], strings.Fields(m[3]))
		if err != nil || run == nil {
			return err
		}
		if len(runs) == maxRuns {
			return fmt.Errorf("over %d lines with quantiles: choose benchmarks with -bench", maxRuns)
		}
		repeats[run.Label]++
		run.Repeat, run.Load.Rate = repeats[run.Label], o.Rate
		runs = append(runs, *run)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case seen == 0:
		return nil, errors.New("no line of a benchmark in it: keep what go test -bench prints")
	case len(runs) == 0:
		return nil, fmt.Errorf("no quantile in %d lines: report some with b.ReportMetric(x, \"p99-ns/op\"); ns/op is "+
			"a mean, and a mean has no tail", seen)
	}
	return runs, nil
}

// benchRun makes a run of a line, or nil without quantiles.
func benchRun(name, operations string, figures []string) (*runfile.Run, error) {
	n, err := strconv.ParseInt(operations, 10, 64)
	if err != nil || n < 1 || n > 1<<53 {
		return nil, fmt.Errorf("%s ran %s times: it was cut off or changed; run it again", name, operations)
	}
	if len(figures)%2 != 0 {
		return nil, fmt.Errorf("%s: the last figure has no unit: the line was cut off; run it again", name)
	}
	var list []known
	l := &loadgen.Result{Answered: n}
	for i := 0; i < len(figures); i += 2 {
		v, err := strconv.ParseFloat(figures[i], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %.40q is no number", name, figures[i])
		}
		if figures[i+1] == "ns/op" {
			d, ok := duration(v*float64(n), 1)
			if !ok {
				return nil, fmt.Errorf("%s: %v ns/op: the line was changed; run it again", name, v)
			}
			l.Duration = d
			continue
		}
		m := benchUnit.FindStringSubmatch(figures[i+1])
		if m == nil {
			continue
		}
		d, ok := duration(v, benchUnits[m[3]])
		q, err := benchQuantile(m[1], m[2])
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: %s %s is no quantile: times of 0 or more, at p0 to p100", name, figures[i],
				figures[i+1])
		}
		list = append(list, known{q, d})
	}
	if len(list) == 0 {
		return nil, nil
	}
	h, qs, err := fill(n, list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.Latency = h
	return &runfile.Run{
		Label: name, Load: l, Import: &runfile.Import{Format: string(FormatGoBench), Quantiles: qs},
		Notes: []string{"the benchmark reported " + percents(qs) + " alone, and results cannot be added to that; " +
			"operations stand for requests, and the duration is ns/op times their number"},
	}, nil
}

// benchQuantile reads 99 and 99.9, and also 999 as 99.9.
func benchQuantile(percent, word string) (float64, error) {
	switch word {
	case "median":
		return .5, nil
	case "max":
		return 1, nil
	}
	v, err := strconv.ParseFloat(percent, 64)
	if v > 100 && len(percent) > 2 && strings.Trim(percent, "0123456789") == "" {
		v, err = strconv.ParseFloat(percent[:2]+"."+percent[2:], 64)
	}
	if err == nil && v > 100 {
		err = errors.New("over 100%")
	}
	return quantile(v), err
}
