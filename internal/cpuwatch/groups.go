// Package cpuwatch reads how a process's quota stopped it (cpu.stat), and how its threads waited
// for a CPU (schedstat).
package cpuwatch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// find takes /proc/PID/cgroup and the reader's /proc/self/mountinfo. It returns the folders of the
// process's control group and of those around it. Version 2 has no quota if version 1 has the cpu
// controller.
func find(cgroup, mountinfo string) (dirs []string, v2 bool, err error) {
	group, v2, ok := groupOf(cgroup)
	if !ok {
		return nil, false, errors.New("its process is in no control group that bounds CPU time")
	}
	for line := range strings.Lines(mountinfo) {
		fields, options, ok := strings.Cut(line, " - ")
		f, o := strings.Fields(fields), strings.Fields(options)
		if !ok || len(f) < 5 || len(o) < 3 {
			continue
		}
		if v2 != (o[0] == "cgroup2") || !v2 && !(o[0] == "cgroup" && has(o[2], "cpu")) {
			continue
		}
		root, mount := f[3], f[4]
		below, ok := strings.CutPrefix(group, strings.TrimSuffix(root, "/"))
		if !ok || below != "" && below[0] != '/' || strings.Contains(below, "..") {
			continue
		}
		for dir := path.Join(mount, below); len(dir) > len(mount); dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
		return append(dirs, mount), v2, nil
	}
	return nil, false, fmt.Errorf("its process's control group %s is not mounted here", group)
}

// groupOf reads 4:cpu,cpuacct:/docker/1234 and 0::/system.slice/x.service.
func groupOf(cgroup string) (group string, v2, ok bool) {
	for line := range strings.Lines(cgroup) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case has(f[1], "cpu"):
			return f[2], false, true
		case f[0] == "0" && f[1] == "":
			group, v2, ok = f[2], true, true
		}
	}
	return group, v2, ok
}

func has(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

// parseMax reads "15000 100000", or "max 100000" for no quota (0).
func parseMax(text string) (cpus float64, ok bool) {
	quota, period, ok := strings.Cut(strings.TrimSpace(text), " ")
	if ok && quota == "max" {
		return 0, true
	}
	return ratio(quota, period)
}

// A quota that is not positive means none (0).
func ratio(quota, period string) (cpus float64, ok bool) {
	q, err := strconv.ParseFloat(strings.TrimSpace(quota), 64)
	p, err2 := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err != nil || err2 != nil || p <= 0 {
		return 0, false
	}
	return max(q/p, 0), true
}

// line reads one of cpu.stat, and reports whether it is valid.
func (m *Moment) line(key, value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return false
	}
	switch key {
	case "nr_periods":
		m.Periods = n
	case "nr_throttled":
		m.Throttled = n
	case "throttled_time":
		m.Waited = time.Duration(n)
	case "throttled_usec":
		m.Waited = time.Duration(n) * time.Microsecond
	}
	return true
}

func parseStat(text string) (m Moment) {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			m.line(key, value)
		}
	}
	return m
}

// ReadLog reads cpu.max, and then the time in seconds since 1970 and cpu.stat, again and again. A
// line such as "quota 0.15" may replace cpu.max.
func ReadLog(r io.Reader) (*CPU, error) {
	cpu := &CPU{Grouped: true}
	var last Moment
	add := func() {
		if !last.At.IsZero() {
			cpu.Moments = append(cpu.Moments, last)
		}
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		key, value, two := strings.Cut(line, " ")
		quota, isMax := parseMax(line)
		switch at, isTime := parseTime(line); {
		case line == "":
		case isMax:
			cpu.Quota = quota
		case isTime:
			if !at.After(last.At) {
				return nil, fmt.Errorf("line %d: the time %s is not after the one before", n, line)
			}
			add()
			last.At = at
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

func parseTime(text string) (t time.Time, ok bool) {
	seconds, fraction, ok := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	f, err2 := strconv.ParseFloat("0."+fraction, 64)
	return time.Unix(s, int64(math.Round(f*1e9))), ok && err == nil && err2 == nil
}

// Beside is what another process saw during a trace.
type Beside struct {
	Late  []Interval // when it was late itself
	Steal float64    // share of the processors' time that the hypervisor took
	CPU   *CPU       // nil: not known
}

type Interval struct{ From, To time.Time }

// CPU is what the kernel counted for the traced process.
type CPU struct {
	Grouped bool    // its control groups were found, so the quota is known
	Quota   float64 // CPUs that the quota allows; 0: no quota
	Moments []Moment
}

// Moment is what the kernel has counted until a time.
type Moment struct {
	At        time.Time
	Periods   int64
	Throttled int64
	Waited    time.Duration // because of the quota, summed over CPUs
	Threads   []ThreadTime
}

// ThreadTime is how long a thread ran and waited for a CPU. Waited includes the quota's waits.
type ThreadTime struct {
	ID          int64
	Ran, Waited time.Duration
}
