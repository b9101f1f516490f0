package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A quota of CPU time, as containers have one.
const (
	quotaTime   = 30 * time.Millisecond // in each quotaPeriod, of all of a replica's threads
	quotaPeriod = 100 * time.Millisecond
)

// quotaTeam is two replicas behind HAProxy that may use 0.3 core each, on any core.
var quotaTeam = team{
	replicas: 2,
	modes: []mode{
		quotaMode(modeNamed(modes, "default")), quotaMode(modeNamed(modes, "gated")), quotaMode(modeNamed(modes, "floor")),
	},
	loads: []load{{name: "quota", share: .1}},
	targets: map[string][]target{"quota": {
		{"default", "gated", "p99", 10, true},
		{"default", "gated", "p99.9", 6, true},
	}},
	counts: []count{{mode: "gated", load: "quota"}},
}

// quotaMode has the replicas run within the quota, with two threads for Go.
func quotaMode(m mode) mode {
	m.all, m.quota, m.rival = true, true, false
	m.env = append([]string{"GOMAXPROCS=2"}, m.env...)
	return m
}

// errNoQuota says that this machine gives none.
var errNoQuota = errors.New("no quota of CPU time is to be had: this needs root, and a hierarchy of control groups with the controller cpu that may be written")

// quotas are control groups with a quota, one for each replica. They are removed by close.
type quotas []string

// newQuotas makes n groups.
func newQuotas(n int) (quotas, error) {
	root, v2, err := cpuController()
	if err != nil {
		return nil, err
	}
	var q quotas
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("bench-gate-%d-%d", os.Getpid(), i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", errNoQuota, err), q.close())
		}
		q = append(q, dir)
		if err := limitCPU(dir, v2); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", errNoQuota, err), q.close())
		}
	}
	return q, nil
}

// limitCPU gives a group the quota.
func limitCPU(dir string, v2 bool) error {
	time, period := strconv.FormatInt(quotaTime.Microseconds(), 10), strconv.FormatInt(quotaPeriod.Microseconds(), 10)
	if v2 {
		return os.WriteFile(filepath.Join(dir, "cpu.max"), []byte(time+" "+period), 0)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), []byte(period), 0),
		os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), []byte(time), 0))
}

// close removes the groups, whose processes must have ended.
func (q quotas) close() (err error) {
	for _, dir := range q {
		err = errors.Join(err, os.Remove(dir))
	}
	return err
}

// within returns the command line that runs argv in a group.
func within(group string, argv ...string) []string {
	return append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}, argv...)
}

// throttled returns how many of its periods a group has waited in for its quota, since it was made.
func throttled(group string) (n int64, err error) {
	b, err := os.ReadFile(filepath.Join(group, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "nr_throttled" {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/cpu.stat has no nr_throttled", group)
}

// cpuController returns where groups with the controller cpu can be made: of version 2 of the control groups, else of
// version 1.
func cpuController() (root string, v2 bool, err error) {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", false, err
	}
	for sc := bufio.NewScanner(strings.NewReader(string(b))); sc.Scan(); {
		f := strings.Fields(sc.Text()) // fstab(5): device, folder, type, options
		if len(f) < 4 {
			continue
		}
		switch f[2] {
		case "cgroup2":
			control, rerr := os.ReadFile(filepath.Join(f[1], "cgroup.subtree_control"))
			for c := range strings.FieldsSeq(string(control)) {
				if rerr == nil && c == "cpu" {
					return f[1], true, nil
				}
			}
		case "cgroup":
			for o := range strings.SplitSeq(f[3], ",") {
				if o == "cpu" {
					root = f[1]
				}
			}
		}
	}
	if root == "" {
		return "", false, errNoQuota
	}
	return root, false, nil
}

// quota measures replicas with a quota, or says that there is none to be had.
func (d *driver) quota(ctx context.Context) error {
	q, err := newQuotas(quotaTeam.replicas)
	if errors.Is(err, errNoQuota) {
		fmt.Fprintln(d.out, "quota: left out:", err)
		d.set.Raw["quota left out"] = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	d.groups = q
	err = d.team(ctx, "quota")
	d.groups = nil
	return errors.Join(err, q.close())
}
