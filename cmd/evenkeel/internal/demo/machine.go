package demo

import (
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

// machine is what keeps a machine from the figures of a quiet one.
type machine struct {
	quota          float64 // processors that a control group allows; 0: all
	others, stolen float64 // largest shares of the processors' time, in percent
}

func (m *machine) add(d *runfile.Disturbance) {
	if d == nil {
		return
	}
	if x, ok := d.ByOthers(); ok {
		m.others = max(m.others, x)
	}
	if x, ok := d.Stolen(); ok {
		m.stolen = max(m.stolen, x)
	}
}

// String says so in words; "" on a quiet machine.
func (m *machine) String() string {
	var why []string
	if n := runtime.NumCPU(); m.quota > 0 && m.quota < float64(n) {
		why = append(why, fmt.Sprintf("a CPU quota allows %.2g of %s", m.quota, textfmt.Plural(n, "processor")))
	}
	if m.others > 0 {
		why = append(why, fmt.Sprintf("other programs take %.0f%% of the processors", m.others))
	}
	if m.stolen > 0 {
		why = append(why, fmt.Sprintf("the hypervisor takes %.0f%%", m.stolen))
	}
	return strings.Join(why, " and ")
}

// cpuQuota returns how many processors the control groups of this process allow, by cgroups(7); 0
// without a limit. root is the root of the file system.
func cpuQuota(root fs.FS) (quota float64) {
	list, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(list)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		var mounts []string
		switch {
		case parts[0] == "0": // version 2
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case strings.Contains(","+parts[1]+",", ",cpu,"):
			mounts = []string{"sys/fs/cgroup/" + parts[1], "sys/fs/cgroup/cpu"}
		}
		for _, mount := range mounts {
			for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) { // a parent's quota holds too
				if q := groupQuota(root, path.Join(mount, dir)); q > 0 && (quota == 0 || q < quota) {
					quota = q
				}
				if dir == "/" {
					break
				}
			}
		}
	}
	return quota
}

// groupQuota reads the quota of one control group, of either version; 0: none.
func groupQuota(root fs.FS, dir string) float64 {
	word := func(file string, i int) float64 {
		text, _ := fs.ReadFile(root, path.Join(dir, file))
		words := strings.Fields(string(text))
		if i >= len(words) {
			return 0
		}
		x, _ := strconv.ParseFloat(words[i], 64) // "max" is 0
		return x
	}
	for _, files := range [][2]string{{"cpu.max", "cpu.max"}, {"cpu.cfs_quota_us", "cpu.cfs_period_us"}} {
		at := 0
		if files[0] == files[1] {
			at = 1
		}
		if time, period := word(files[0], 0), word(files[1], at); time > 0 && period > 0 {
			return time / period
		}
	}
	return 0
}
