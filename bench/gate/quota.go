//go:build linux

package gate

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
)

// The quota of CPU time for all threads of a replica in each period.
const (
	quotaTime   = 30 * time.Millisecond
	quotaPeriod = 100 * time.Millisecond
)

// quotas are control groups, one for each replica.
type quotas []string

func newQuotas(n int) (q quotas, err error) {
	root, v2, err := cpuController()
	for i := 0; i < n && err == nil; i++ {
		dir := filepath.Join(root, fmt.Sprintf("evenkeel-bench-%d-%d", os.Getpid(), i))
		if err = os.Mkdir(dir, 0o755); err == nil {
			q = append(q, dir)
			err = limitCPU(dir, v2)
		}
	}
	if err != nil {
		return nil, harness.NotHere(errors.Join(fmt.Errorf("no quota of CPU time: it needs root, and control groups "+
			"with the controller cpu that may be written: %w", err), q.close()))
	}
	return q, nil
}

func limitCPU(dir string, v2 bool) error {
	share, period := strconv.FormatInt(quotaTime.Microseconds(), 10), strconv.FormatInt(quotaPeriod.Microseconds(), 10)
	if v2 {
		return os.WriteFile(filepath.Join(dir, "cpu.max"), []byte(share+" "+period), 0)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), []byte(period), 0),
		os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), []byte(share), 0))
}

// close removes the groups, after their processes have ended.
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

// cpuController returns the folder for groups with the controller cpu, of version 2 if it has that
// controller.
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
			control, _ := os.ReadFile(filepath.Join(f[1], "cgroup.subtree_control"))
			if slices.Contains(strings.Fields(string(control)), "cpu") {
				return f[1], true, nil
			}
		case "cgroup":
			if slices.Contains(strings.Split(f[3], ","), "cpu") {
				root = f[1]
			}
		}
	}
	if root == "" {
		return "", false, errors.New("no such hierarchy is mounted")
	}
	return root, false, nil
}
