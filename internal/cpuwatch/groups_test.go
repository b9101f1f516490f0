package cpuwatch

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFind tests how find joins the path of a group with what is mounted where.
func TestFind(t *testing.T) {
	const (
		v1     = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
		set    = "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
		v2     = "35 31 0:32 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
		docker = "36 31 0:30 /docker/ab /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	)
	for _, tt := range []struct {
		name, cgroup, mounts string
		want                 string
		v2, fails            bool
	}{
		{
			"version 1", "4:cpuset:/a\n3:cpu,cpuacct:/b/c\n0::/\n", set + v1 + v2,
			"/sys/fs/cgroup/cpu,cpuacct/b/c /sys/fs/cgroup/cpu,cpuacct/b /sys/fs/cgroup/cpu,cpuacct", false, false,
		},
		{"a container of version 1", "3:cpu:/docker/ab\n", docker, "/sys/fs/cgroup/cpu", false, false},
		{
			"version 2", "0::/system.slice/x.service\n", v2,
			"/sys/fs/cgroup/unified/system.slice/x.service /sys/fs/cgroup/unified/system.slice /sys/fs/cgroup/unified",
			true, false,
		},
		{"a namespace of version 2", "0::/\n", v2, "/sys/fs/cgroup/unified", true, false},
		{"of another container", "3:cpu:/docker/abc\n", docker, "", false, true},
		{"above a namespace's root", "0::/../x\n", v2, "", false, true},
		{"no hierarchy", "4:cpuset:/a\n", v1, "", false, true},
		{"nothing", "", "", "", false, true},
	} {
		dirs, second, err := find(tt.cgroup, tt.mounts)
		if strings.Join(dirs, " ") != tt.want || second != tt.v2 || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v, %v", tt.name, dirs, second, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]float64{"15000 100000\n": .15, "max 100000\n": 0, "200000 100000": 2} {
		if got, ok := parseMax(text); got != want || !ok {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "15000", "15000 0", "x 100000"} {
		if got, ok := parseMax(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, ok := ratio("-1\n", "100000\n"); got != 0 || !ok {
		t.Error(got, ok)
	}
	v1, v2 := "nr_periods 7\nnr_throttled 3\nthrottled_time 2000\n",
		"usage_usec 5\nnr_periods 7\nnr_throttled 3\nthrottled_usec 2\nnr_bursts 0\n"
	want := Moment{Periods: 7, Throttled: 3, Waited: 2 * time.Microsecond}
	if !reflect.DeepEqual(parseStat(v1), want) || !reflect.DeepEqual(parseStat(v2), want) {
		t.Error(parseStat(v1), parseStat(v2))
	}
}

func TestReadLog(t *testing.T) {
	const log = `15000 100000
1764339000.100000
nr_periods 10
nr_throttled 2
throttled_usec 500

1764339000.110500
nr_periods 11
nr_throttled 3
throttled_usec 40500
`
	cpu, err := ReadLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1764339000, 100_000_000)
	want := []Moment{
		{At: at, Periods: 10, Throttled: 2, Waited: 500 * time.Microsecond},
		{At: at.Add(10_500 * time.Microsecond), Periods: 11, Throttled: 3, Waited: 40_500 * time.Microsecond},
	}
	same := func(a, b Moment) bool {
		return a.At.Equal(b.At) && a.Periods == b.Periods && a.Throttled == b.Throttled && a.Waited == b.Waited
	}
	if !slices.EqualFunc(cpu.Moments, want, same) || cpu.Quota != .15 || !cpu.Grouped {
		t.Errorf("%+v", cpu)
	}
	for bad, why := range map[string]string{
		"":                                   "fewer than two times",
		"1764339000.1\n":                     "fewer than two times",
		"1764339000.2\n1764339000.1\n":       "line 2: the time 1764339000.1 is not after",
		"hello\n":                            `line 1: "hello" is not a time`,
		"quota x\n":                          `line 1: "x" is not a number of CPUs`,
		"nr_periods -1\n":                    "line 1",
		"<html><body>404 not found</body>\n": "line 1",
	} {
		if _, err := ReadLog(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
