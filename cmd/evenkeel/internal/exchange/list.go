package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// A list has a latency on each line, in the unit of -unit or with its own, such as 1.5ms. Lines
// that begin with # do not count.
var listLine = regexp.MustCompile(`^[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?(ns|us|µs|ms|s|m|h)?$`)

func readList(r io.Reader, o Options) ([]runfile.Run, error) {
	run := newRun(o)
	run.Notes = []string{"a list of latencies says nothing but these: duration, rate, connections, failures, " +
		"statuses are not known"}
	lines, n := bufio.NewScanner(r), 1
	for ; lines.Scan(); n++ {
		s := strings.TrimSpace(lines.Text())
		if s == "" || s[0] == '#' {
			continue
		}
		d, err := parseLatency(s, o.Unit)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		run.Load.Answered++
		run.Load.Latency.Record(d)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return []runfile.Run{run}, nil
}

func parseLatency(s string, unit time.Duration) (time.Duration, error) {
	if !listLine.MatchString(s) {
		return 0, fmt.Errorf("%.40q is not a latency: write a number, or one with its unit, such as 1.5ms", s)
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil:
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%.40q is not a latency: %w", s, err)
		}
		return d, nil
	case unit == 0:
		return 0, errors.New("a number without its unit: say it with -unit, such as -unit 1ms")
	}
	d, _ := duration(v, unit) // listLine lets no sign through
	return d, nil
}

func sniffList(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		s := strings.TrimSpace(line)
		if s == "" || s[0] == '#' {
			continue
		}
		if !listLine.MatchString(s) {
			return n > 0 && !strings.HasSuffix(line, "\n")
		}
		n++
	}
	return n > 0
}
