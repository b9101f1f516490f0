package cpuwatch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// ReadLog reads the output of a loop in the container: cpu.max, and then the time in seconds since
// 1970 and cpu.stat, again and again. A line such as "quota 0.15" may stand in place of cpu.max.
func ReadLog(r io.Reader) (*CPU, error) {
	cpu := &CPU{Grouped: true}
	var last counts
	add := func() {
		if n := len(cpu.Moments); n > 0 {
			cpu.Moments[n-1].Periods, cpu.Moments[n-1].Throttled, cpu.Moments[n-1].Waited = last.periods,
				last.throttled, last.waited
		}
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		key, value, two := strings.Cut(line, " ")
		quota, isMax := parseMax(line)
		switch at, err := parseTime(line); {
		case line == "":
		case isMax:
			cpu.Quota = quota
		case err == nil:
			add()
			if k := len(cpu.Moments); k > 0 && !at.After(cpu.Moments[k-1].At) {
				return nil, fmt.Errorf("line %d: the time %s is not after the one before", n, line)
			}
			cpu.Moments = append(cpu.Moments, Moment{At: at})
		case key == "quota":
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || q < 0 {
				return nil, fmt.Errorf("line %d: %q is not a number of CPUs", n, value)
			}
			cpu.Quota = q
		case two && last.line(key, value):
		default:
			return nil, fmt.Errorf("line %d: %.40q is not a time, a line of cpu.stat or a cpu.max", n, line)
		}
	}
	add()
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case len(cpu.Moments) < 2:
		return nil, errors.New("it has fewer than two times with a cpu.stat; write the time and cpu.stat each 10 ms")
	}
	return cpu, nil
}

// parseTime reads 1764339000.123456. It needs the point.
func parseTime(text string) (time.Time, error) {
	if !strings.Contains(text, ".") {
		return time.Time{}, errors.New("no point")
	}
	seconds, fraction, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	f, err2 := strconv.ParseFloat("0."+fraction, 64)
	if err != nil || err2 != nil {
		return time.Time{}, errors.New("no number")
	}
	return time.Unix(s, int64(math.Round(f*1e9))), nil
}
