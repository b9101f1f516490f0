package gcgate

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/internal/cputime"
)

// A Collector is what a [Gate] controls. The gate calls it from one goroutine, also while Collect
// runs. [Gate.Stop] may call GOGC, SetPercent and SetLimit, but never at the same time. Sizes are
// in bytes.
type Collector interface {
	// Read returns ended cycles, those of them that the collector began by itself, bytes allocated,
	// and bytes that the last cycle left. The gate calls it up to 1,000 times per second.
	Read() (cycles, automatic, allocated, live uint64)

	// Collect runs one whole cycle, its sweep included.
	Collect()

	// GOGC returns the current percent. Negative: the pacing is off.
	GOGC() (percent int)

	// SetPercent is [debug.SetGCPercent].
	SetPercent(percent int) (old int)

	// SetLimit is [debug.SetMemoryLimit]. A negative limit changes nothing.
	SetLimit(bytes int64) (old int64)

	// Overhead is what the limit counts besides the heap's objects.
	Overhead() uint64

	// Mapped is the memory that the limit counts, with free memory that Go keeps.
	Mapped() uint64

	// Roots are stacks and globals, which raise the goal by GOGC percent.
	Roots() uint64

	// Memory returns what the control group leaves to Go, its limit, and the limit's file for the
	// log. math.MaxInt64 is no limit. available is what the machine can give, 0 if not known.
	Memory() (groupLeft, groupLimit int64, groupFile string, available uint64)

	// Marked returns about how long all ended mark phases took.
	Marked() time.Duration

	// CPU returns the CPU time that this process has used, and what its quota allows of each period.
	// A period of 0 is no quota.
	CPU() (used, allowed, period time.Duration)
}

type reading struct{ cycles, automatic, allocated, live uint64 }

func readCollector(c Collector) (r reading) {
	r.cycles, r.automatic, r.allocated, r.live = c.Read()
	return r
}

const (
	metricTotal    = "/memory/classes/total:bytes"
	metricReleased = "/memory/classes/heap/released:bytes"
)

type goRuntime struct {
	samples []metrics.Sample // of Read
	marked  markTime
}

// newGoRuntime leaves out /memory/classes/heap/objects, which counts dead objects until they are
// swept.
func newGoRuntime() *goRuntime {
	return &goRuntime{samples: named("/gc/cycles/total:gc-cycles", "/gc/cycles/automatic:gc-cycles",
		"/gc/heap/allocs:bytes", "/gc/heap/live:bytes")}
}

func named(names ...string) []metrics.Sample {
	s := make([]metrics.Sample, len(names))
	for i, n := range names {
		s[i].Name = n
	}
	return s
}

func readMetrics(names ...string) (values []uint64) {
	samples := named(names...)
	metrics.Read(samples)
	for _, s := range samples {
		values = append(values, s.Value.Uint64())
	}
	return values
}

func (r *goRuntime) Read() (cycles, automatic, allocated, live uint64) {
	metrics.Read(r.samples)
	at := func(i int) uint64 { return r.samples[i].Value.Uint64() }
	return at(0), at(1), at(2), at(3)
}

func (r *goRuntime) Collect()                   { runtime.GC() }
func (r *goRuntime) SetPercent(percent int) int { return debug.SetGCPercent(percent) }
func (r *goRuntime) SetLimit(bytes int64) int64 { return debug.SetMemoryLimit(bytes) }

// GOGC does not stop the world. The runtime has -1 for off.
func (r *goRuntime) GOGC() int {
	return int(int32(readMetrics("/gc/gogc:percent")[0]))
}

// Overhead leaves free spans out, because the heap grows into them.
func (r *goRuntime) Overhead() uint64 {
	v := readMetrics(metricTotal, metricReleased,
		"/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes")
	return v[0] - min(v[1]+v[2]+v[3], v[0])
}

// Mapped is mappedReady in the pacer.
func (r *goRuntime) Mapped() uint64 {
	v := readMetrics(metricTotal, metricReleased)
	return v[0] - min(v[1], v[0])
}

// Roots is as in runtime/mgcpacer.go, commit.
func (r *goRuntime) Roots() uint64 {
	v := readMetrics("/gc/scan/stack:bytes", "/gc/scan/globals:bytes")
	return v[0] + v[1]
}

// Memory deducts what this process has from C or mmap, and other processes.
func (r *goRuntime) Memory() (groupLeft, groupLimit int64, groupFile string, available uint64) {
	m := readMemory(os.DirFS("/"))
	return m.goGroup(r.Mapped()), m.whole, m.file, m.available
}

func memoryOf(c Collector) (m memory) {
	m.group, m.whole, m.file, m.available = c.Memory()
	return m
}

// Marked derives from the CPU time of the dedicated mark workers.
func (r *goRuntime) Marked() time.Duration {
	workers := named("/cpu/classes/gc/mark/dedicated:cpu-seconds")
	metrics.Read(workers)
	return r.marked.add(workers[0].Value.Float64(), markWorkers(runtime.GOMAXPROCS(0)))
}

func (r *goRuntime) CPU() (used, allowed, period time.Duration) {
	allowed, period = readQuota(os.DirFS("/"))
	return cputime.Process(), allowed, period
}

// markTime sums up differences, because GOMAXPROCS follows the control group.
type markTime struct {
	cpu, took float64
}

func (m *markTime) add(cpu, workers float64) time.Duration {
	m.took += max(cpu-m.cpu, 0) / workers
	m.cpu = cpu
	return time.Duration(m.took * float64(time.Second))
}

// markWorkers is a quarter of the Ps, or the nearest whole number within 30% of that
// (runtime/mgcpacer.go, startCycle).
func markWorkers(procs int) float64 {
	quarter := float64(procs) / 4
	if whole := math.Floor(quarter + 0.5); math.Abs(whole/quarter-1) <= 0.3 {
		return whole
	}
	return quarter
}

// memory is in bytes. math.MaxInt64 is no limit, or not known.
type memory struct {
	group     int64 // what the control group leaves to this process
	whole     int64
	file      string // such as memory.high; "": not known
	available uint64 // 0: not known
	resident  uint64 // anonymous; 0: not known
}

// readMemory asks Linux. Missing files mean not known.
func readMemory(root fs.FS) memory {
	const kibi = 1 << 10
	machine := numbers(root, "proc/meminfo")
	m := memory{
		available: kibi * machine["MemAvailable:"],
		resident:  kibi * numbers(root, "proc/self/status")["RssAnon:"],
	}
	m.group, m.whole, m.file = groupLimit(root, m.resident)
	if total := kibi * machine["MemTotal:"]; total > 0 && uint64(m.group) > total {
		m.group, m.whole, m.file = math.MaxInt64, math.MaxInt64, "" // cgroup v1 has no "none"
	}
	return m
}

// groupLimit returns the lowest memory limit of the process's control groups and their parents, and
// what other processes leave of it. resident is this process's memory, 0 if not known.
func groupLimit(root fs.FS, resident uint64) (left, whole int64, file string) {
	const v1 = "memory.limit_in_bytes"
	left, whole = math.MaxInt64, math.MaxInt64
	for _, dir := range groupDirs(root, "memory") {
		for _, name := range []string{"memory.max", "memory.high", v1} {
			text, _ := fs.ReadFile(root, path.Join(dir, name))
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil || n <= 0 {
				continue
			}
			whole = min(whole, n)
			if rest := max(n-others(root, dir, name == v1, resident), 1); rest < left {
				left, file = rest, name
			}
		}
	}
	return left, whole, file
}

// groupDirs returns the folders of the process's control groups that may have a controller, and of
// their parents.
//
// In a container /proc may name a path that is not mounted. The mount's root is the container's
// own.
func groupDirs(root fs.FS, controller string) (dirs []string) {
	list, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(list)) { // ID:controllers:path, "0::path" in v2
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		mount := "sys/fs/cgroup"
		switch {
		case !ok:
			continue
		case slices.Contains(strings.Split(controllers, ","), controller):
			mount = path.Join(mount, controller)
		case id != "0":
			continue
		}
		for group = path.Join("/", group); group != "/"; group = path.Dir(group) {
			dirs = append(dirs, path.Join(mount, group))
		}
		dirs = append(dirs, mount)
	}
	return dirs
}

// readQuota returns the least CPU time that a control group of the process or a parent allows, of its
// period. 0 is no quota.
func readQuota(root fs.FS) (allowed, period time.Duration) {
	for _, dir := range groupDirs(root, "cpu") {
		text := func(name string) string {
			b, _ := fs.ReadFile(root, path.Join(dir, name))
			return string(b)
		}
		f := strings.Fields(text("cpu.max") + text("cpu.cfs_quota_us") + text("cpu.cfs_period_us")) // v2, v1: µs
		if len(f) != 2 {
			continue
		}
		a, err := strconv.ParseInt(f[0], 10, 64) // "max" in v2, -1 in v1: none
		p, err2 := strconv.ParseInt(f[1], 10, 64)
		if err != nil || err2 != nil || a <= 0 || p <= 0 {
			continue
		}
		if period == 0 || float64(a)/float64(p) < float64(allowed)/float64(period) {
			allowed, period = time.Duration(a)*time.Microsecond, time.Duration(p)*time.Microsecond
		}
	}
	return allowed, period
}

// others leaves out file caches, because the kernel gives them back.
func others(root fs.FS, dir string, v1 bool, resident uint64) int64 {
	anonymous, shared := "anon", "shmem"
	if v1 {
		anonymous, shared = "total_rss", "total_shmem"
	}
	if resident == 0 {
		return 0
	}
	stat := numbers(root, path.Join(dir, "memory.stat"))
	anon := max(stat[anonymous], resident) - resident
	return int64(anon + stat[shared])
}

// goGroup deducts what this process has from C or mmap. mapped is Go's memory.
func (m memory) goGroup(mapped uint64) int64 {
	if m.group == math.MaxInt64 || m.resident <= mapped {
		return m.group
	}
	return max(m.group-int64(m.resident-mapped), 1)
}

// numbers reads lines such as "anon 4096" or "MemTotal: 16 kB", without the unit. A line may have a
// text instead. No number is above 2^52.
func numbers(root fs.FS, file string) map[string]uint64 {
	read := make(map[string]uint64)
	text, _ := fs.ReadFile(root, file)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			read[f[0]], _ = strconv.ParseUint(f[1], 10, 52)
		}
	}
	return read
}

func limitAttr(key string, limit int64) slog.Attr {
	if limit == math.MaxInt64 {
		return slog.String(key, "none")
	}
	return slog.Int64(key, limit)
}
