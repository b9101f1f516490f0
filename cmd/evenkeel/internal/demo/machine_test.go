package demo

import (
	"fmt"
	"runtime"
	"testing"
	"testing/fstest"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
)

func TestCPUQuota(t *testing.T) {
	for _, tt := range []struct {
		name, groups string
		files        map[string]string
		want         float64
	}{
		{"no cgroups", "", nil, 0},
		{"v2, none", "0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0},
		{"v2", "0::/a\n", map[string]string{"sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5},
		{"v2, a parent's", "0::/a/b\n", map[string]string{
			"sys/fs/cgroup/a/b/cpu.max": "200000 100000\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
		}, .5},
		{"v2, in a namespace", "0::/\n", map[string]string{"sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1},
		{"v1, none", "2:cpu:/a\n", map[string]string{
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
		}, 0},
		{"v1", "4:memory:/x\n2:cpu,cpuacct:/a\n", map[string]string{
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":  "30000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
		}, .3},
	} {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(tt.groups)}}
		for name, text := range tt.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cpuQuota(root); got != tt.want {
			t.Errorf("%s: %v processors, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDemoMachine(t *testing.T) {
	m := machine{}
	m.add(nil)
	m.add(&runfile.Disturbance{Window: 2e9, Other: gctrace.Of(1.)})
	if got := m.String(); got != "" {
		t.Errorf("a quiet machine: %q", got)
	}
	m.quota = float64(runtime.NumCPU())
	if got := m.String(); got != "" {
		t.Errorf("a quota of all processors: %q", got)
	}
	m.quota = .5
	m.add(&runfile.Disturbance{Window: 2e9, Other: gctrace.Of(61.7), Steal: gctrace.Of(2.2)})
	if got := m.String(); got != fmt.Sprintf("a CPU quota allows 0.5 of %s and other programs take 62%% of the "+
		"processors and the hypervisor takes 2%%", textfmt.Plural(runtime.NumCPU(), "processor")) {
		t.Errorf("got %q", got)
	}
}
