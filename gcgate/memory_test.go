package gcgate

import (
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// files makes a file system of names and contents.
func files(names ...string) fstest.MapFS {
	m := make(fstest.MapFS)
	for i := 0; i+1 < len(names); i += 2 {
		m[names[i]] = &fstest.MapFile{Data: []byte(names[i+1])}
	}
	return m
}

func TestReadMemory(t *testing.T) {
	const (
		none    = math.MaxInt64
		meminfo = "MemTotal:       24684092 kB\nMemFree:        22639412 kB\nMemAvailable:   23971488 " +
			"kB\nBuffers:           27180 kB\n"
		v1 = "9:name=systemd:/\n4:memory:/docker/abc\n3:cpuset:/docker/abc\n0::/\n"
	)
	const high = "sys/fs/cgroup/a/memory.high"
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		group int64
	}{
		{
			"memory.high", files("proc/self/cgroup", "0::/a\n", high, "268435456\n",
				"sys/fs/cgroup/a/memory.max", "max\n"),
			256 * mib,
		},
		{"memory.high is lower", files("proc/self/cgroup", "0::/a\n", high, "268435456\n", "sys/fs/cgroup/a/memory.max",
			"536870912\n"), 256 * mib},
		{"memory.max is lower", files("proc/self/cgroup", "0::/a\n", high, "536870912\n", "sys/fs/cgroup/a/memory.max",
			"268435456\n"), 256 * mib},
		{"memory.high is further up", files("proc/self/cgroup", "0::/a/b\n", high, "268435456\n",
			"sys/fs/cgroup/a/b/memory.max", "536870912\n"), 256 * mib},
		{
			"no memory.high", files("proc/self/cgroup", "0::/a\n", high, "max\n",
				"sys/fs/cgroup/a/memory.max", "536870912\n"),
			512 * mib,
		},
		{"no Linux", files(), none},
		{
			"v2, a container of its own",
			files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "536870912\n"),
			512 * mib,
		},
		{"v2, no limit", files("proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/memory.max", "max\n"), none},
		{"v2, the limit is further up", files(
			"proc/self/cgroup", "0::/system.slice/a.service\n",
			"sys/fs/cgroup/system.slice/a.service/memory.max", "max\n",
			"sys/fs/cgroup/system.slice/memory.max", "1073741824\n"), 1024 * mib},
		{"v2, the lowest holds", files(
			"proc/self/cgroup", "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max", "2147483648\n",
			"sys/fs/cgroup/a/memory.max", "1073741824\n"), 1024 * mib},
		{"v2, moved out of its namespace", files("proc/self/cgroup", "0::/../../x\n", "sys/fs/cgroup/memory.max",
			"536870912\n"), 512 * mib},
		{
			"v2, a colon in the name",
			files("proc/self/cgroup", "0::/a:b\n", "sys/fs/cgroup/a:b/memory.max", "536870912\n"),
			512 * mib,
		},
		{
			"v1", files("proc/self/cgroup", v1, "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "536870912\n"),
			512 * mib,
		},
		{
			"v1, in a container whose /proc has the host's path",
			files("proc/self/cgroup", v1, "sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"), 512 * mib,
		},
		{"v1, with another controller", files("proc/self/cgroup", "4:cpu,memory:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "536870912\n"), 512 * mib},
		{
			"v1, no limit", files("proc/self/cgroup", v1, "sys/fs/cgroup/memory/memory.limit_in_bytes",
				"9223372036854771712\n"),
			none,
		},
		{
			"more than the machine has",
			files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "34359738368\n"), none,
		},
		{
			"nonsense", files("proc/self/cgroup", "0:\n::\n\n4:memory\n0::/a\n", "sys/fs/cgroup/a/memory.max", "-1\n"),
			none,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["proc/meminfo"] = files("x", meminfo)["x"]
			file := ""
			switch {
			case c.group == none:
			case strings.HasPrefix(c.name, "v1"):
				file = "memory.limit_in_bytes"
			case strings.HasPrefix(c.name, "memory.high"):
				file = "memory.high"
			default:
				file = "memory.max"
			}
			want := memory{group: c.group, whole: c.group, file: file, available: 23971488 << 10}
			if got := readMemory(c.files); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			if a := allow(&Options{}, none, want); file != "" && a.from != "control group ("+file+")" {
				t.Errorf("the log says that the limit is of %q", a.from)
			}
			delete(c.files, "proc/meminfo")
			if got := readMemory(c.files); got.available != 0 {
				t.Errorf("without meminfo: %+v", got)
			}
		})
	}
}

// TestReadThisMachine: on Linux there is something to read.
func TestReadThisMachine(t *testing.T) {
	var m memory
	m.group, m.whole, m.file, m.available = newGoRuntime().Memory()
	if runtime.GOOS == "linux" && (m.available == 0 || m.available > 1<<50) || m.group <= 0 || m.whole < m.group {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat("/proc/meminfo"); err != nil && m.available != 0 {
		t.Errorf("%+v without /proc/meminfo", m)
	}
}

// FuzzReadMemory: whatever the files say, nothing panics, and a limit is a number that one of
// them holds.
func FuzzReadMemory(f *testing.F) {
	f.Add("0::/a/b\n", "max\n", "1073741824\n", "MemTotal: 24684092 kB\nMemAvailable: 1 kB\n")
	f.Add("4:memory:/a/b\n0::/\n", "4096", "9223372036854771712\n", "MemAvailable:99999999999999999999 kB")
	f.Add("4:memory:../../..//a/./b", "-1", "0", "MemTotal:\n")
	f.Fuzz(func(t *testing.T, groups, leaf, top, meminfo string) {
		m := readMemory(files(
			"proc/self/cgroup", groups, "proc/meminfo", meminfo,
			"sys/fs/cgroup/a/b/memory.max", leaf, "sys/fs/cgroup/memory.max", top,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", leaf, "sys/fs/cgroup/memory/memory.limit_in_bytes", top))
		if m.group == math.MaxInt64 {
			return
		}
		for _, text := range []string{leaf, top} {
			if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n == m.group && n > 0 {
				return
			}
		}
		t.Errorf("limit %d of %q and %q", m.group, leaf, top)
	})
}

// TestGroupIsShared: what other processes have of a control group is not there for this one.
func TestGroupIsShared(t *testing.T) {
	const (
		v2   = "0::/pod/c\n"
		v1   = "4:memory:/pod/c\n"
		own  = "VmRSS:\t  900000 kB\nRssAnon:\t  204800 kB\n" // 200 MiB
		gib  = "1073741824\n"
		stat = "sys/fs/cgroup/pod/c/memory.stat"
	)
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		group int64 // MiB
	}{
		{"v2, no other process", files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib, stat,
			"anon 209715200\nfile 900000000\n"), 1024},
		{"v2, with another", files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib, stat,
			"anon 629145600\nfile 900000000\nanon_thp 0\n"), 624},
		{
			"v2, counted late", files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib,
				stat, "anon 104857600\n"),
			1024,
		},
		{"v2, with another in the group above", files("proc/self/cgroup", v2,
			"sys/fs/cgroup/pod/c/memory.max", gib, stat, "anon 209715200\n",
			"sys/fs/cgroup/pod/memory.max", "1610612736\n", "sys/fs/cgroup/pod/memory.stat", "anon 1258291200\n"), 536},
		{"v2, others in a group without a limit", files("proc/self/cgroup", v2,
			"sys/fs/cgroup/pod/c/memory.max", gib, stat, "anon 209715200\n",
			"sys/fs/cgroup/pod/memory.max", "max\n", "sys/fs/cgroup/pod/memory.stat", "anon 1258291200\n"), 1024},
		{"v2, with files in memory", files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib, stat,
			"anon 209715200\nfile 900000000\nshmem 471859200\nfile_mapped 1\n"), 574},
		{
			"v2, with files in memory, and another",
			files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib, stat,
				"anon 314572800\nshmem 471859200\n"), 474,
		},
		{
			"v2, files in memory, over the limit",
			files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib, stat,
				"anon 9223372036854775807\nshmem 9223372036854775807\n"), 0,
		},
		{"v2, no memory.stat", files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib), 1024},
		{"v2, over the limit", files("proc/self/cgroup", v2, "sys/fs/cgroup/pod/c/memory.max", gib, stat,
			"anon 9629145600\n"), 0},
		{"v1, with another", files("proc/self/cgroup", v1, "sys/fs/cgroup/memory/pod/c/memory.limit_in_bytes", gib,
			"sys/fs/cgroup/memory/pod/c/memory.stat",
			"cache 5\nrss 209715200\ntotal_rss_huge 7\ntotal_rss 629145600\n"), 624},
		{
			"v1, with files in memory",
			files("proc/self/cgroup", v1, "sys/fs/cgroup/memory/pod/c/memory.limit_in_bytes", gib,
				"sys/fs/cgroup/memory/pod/c/memory.stat",
				"rss 209715200\nshmem 7\ntotal_rss 209715200\ntotal_shmem 471859200\n"),
			574,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["proc/self/status"] = files("x", own)["x"]
			if got := readMemory(c.files).group; got>>20 != c.group || got <= 0 {
				t.Errorf("%d bytes, want %d MiB", got, c.group)
			}
			delete(c.files, "proc/self/status") // what is this process's own is not known
			single := readMemory(c.files).group
			for name := range c.files {
				if path.Base(name) == "memory.stat" {
					delete(c.files, name)
				}
			}
			if want := readMemory(c.files).group; single != want {
				t.Errorf("without RssAnon %d bytes, want %d", single, want)
			}
		})
	}
}

// TestGroupCountsWhatIsNotGos: C's memory fills the container, too.
func TestGroupCountsWhatIsNotGos(t *testing.T) {
	m := readMemory(files(
		"proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/memory.max", "1073741824\n",
		"proc/self/status", "VmRSS:\t  900000 kB\nRssAnon:\t  614400 kB\nRssFile:\t  1 kB\n"))
	if m.resident != 600*mib {
		t.Fatalf("resident %d MiB, want 600", m.resident/mib)
	}
	for mapped, want := range map[uint64]int64{200 * mib: 624 * mib, 600 * mib: 1024 * mib, 700 * mib: 1024 * mib} {
		if got := m.goGroup(mapped); got != want {
			t.Errorf("%d MiB of Go's: %d MiB left to Go, want %d", mapped/mib, got/mib, want/mib)
		}
	}
	if got := (memory{group: math.MaxInt64, resident: 600 * mib}).goGroup(0); got != math.MaxInt64 {
		t.Errorf("without a group's limit: %d", got)
	}
}

func TestReadQuota(t *testing.T) {
	const v1 = "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n0::/\n"
	const ms = time.Millisecond
	for _, c := range []struct {
		name            string
		files           fstest.MapFS
		allowed, period time.Duration
	}{
		{"no Linux", files(), 0, 0},
		{"v2", files("proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/cpu.max", "30000 100000\n"), 30 * ms, 100 * ms},
		{"v2, none", files("proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/cpu.max", "max 100000\n"), 0, 0},
		{
			"v2, a container of its own",
			files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/cpu.max", "150000 50000\n"), 150 * ms, 50 * ms,
		},
		{
			"v2, a parent allows less",
			files("proc/self/cgroup", "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max", "40000 10000\n",
				"sys/fs/cgroup/a/cpu.max", "200000 100000\n"), 200 * ms, 100 * ms,
		},
		{"v1", files("proc/self/cgroup", v1, "sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "30000\n",
			"sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n"), 30 * ms, 100 * ms},
		{"v1, none", files("proc/self/cgroup", v1, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"), 0, 0},
		{"nonsense", files("proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/cpu.max", "30000 0\n"), 0, 0},
	} {
		if allowed, period := readQuota(c.files); allowed != c.allowed || period != c.period {
			t.Errorf("%s: %v of %v, want %v of %v", c.name, allowed, period, c.allowed, c.period)
		}
	}
}
