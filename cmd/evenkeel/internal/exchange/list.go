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

// A list has a latency on each line, as a number in the unit of -unit or with its unit, such as
// 1.5ms. Empty lines and those that begin with # do not count.
var listLine = regexp.MustCompile(`^[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?(ns|us|µs|ms|s|m|h)?$`)

func readList(r io.Reader, o Options) ([]runfile.Run, error) {
	l := &loadgen.Result{Rate: o.Rate}
	err := lines(r, func(s string) error {
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			return nil
		}
		if !listLine.MatchString(s) {
			return fmt.Errorf("%.40q is no latency: write a number, or one with its unit, such as 1.5ms", s)
		}
		var d time.Duration
		v, err := strconv.ParseFloat(s, 64)
		if ok := false; err == nil {
			if o.Unit == 0 {
				return errors.New("a number without its unit: say it with -unit, such as -unit 1ms")
			}
			if d, ok = duration(v, o.Unit); !ok {
				return fmt.Errorf("%.40q is no latency", s)
			}
		} else if d, err = time.ParseDuration(s); err != nil {
			return fmt.Errorf("%.40q is no latency: %w", s, err)
		}
		l.Answered++
		l.Latency.Record(d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []runfile.Run{{
		Label: o.Label, Load: l, Import: &runfile.Import{Format: string(FormatList), Exact: true},
		Notes: []string{"a list of latencies says nothing but these: duration, rate, connections, failures, statuses " +
			"are not known"},
	}}, nil
}

// sniffList reports whether all whole lines of a file's beginning are latencies.
func sniffList(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		if s == "" || s[0] == '#' {
			continue
		}
		if !listLine.MatchString(s) {
			return n > 0 && !strings.HasSuffix(line, "\n") // the last one may be cut
		}
		n++
	}
	return n > 0
}
