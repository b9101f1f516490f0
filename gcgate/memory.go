package gcgate

import (
	"io/fs"
	"log/slog"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memory is what there is for this process, in bytes. math.MaxInt64: no limit, or not known.
type memory struct {
	group     int64 // what its control group's limit leaves to it
	whole     int64
	file      string // that has the limit, such as memory.high; "": not known
	available uint64 // what the machine can give to new work; 0: not known
	resident  uint64 // anonymous memory of this process; 0: not known
}

// readMemory asks Linux. root is the root of the file system. Missing files mean not known.
func readMemory(root fs.FS) memory {
	const machine = "proc/meminfo"
	m := memory{
		available: kibibytes(root, machine, "MemAvailable"),
		resident:  kibibytes(root, "proc/self/status", "RssAnon"),
	}
	m.group, m.whole, m.file = groupLimit(root, m.resident)
	if total := kibibytes(root, machine, "MemTotal"); total > 0 && uint64(m.group) > total {
		m.group, m.whole, m.file = math.MaxInt64, math.MaxInt64, "" // cgroup v1 writes "none" as a very large number
	}
	return m
}

// groupLimit returns the lowest memory limit of the process's control groups and of those above
// them, in cgroup v1 and v2: whole, and what other processes leave of it. file is which limit it
// is. resident is the anonymous memory of this process, 0 if not known.
//
// In a container /proc may name a path that is not mounted. The root of the mount is the
// container's own.
func groupLimit(root fs.FS, resident uint64) (left, whole int64, file string) {
	left, whole = math.MaxInt64, math.MaxInt64
	list, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(list)) { // ID:controllers:path, "0::path" in v2
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		dir, limits, v1 := "sys/fs/cgroup", []string{"memory.max", "memory.high"}, false
		switch {
		case !ok:
			continue
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			dir, limits, v1 = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}, true
		case id != "0":
			continue
		}
		for group = path.Join("/", group); ; group = path.Dir(group) {
			for _, name := range limits {
				text, _ := fs.ReadFile(root, path.Join(dir, group, name))
				n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
				if err != nil || n <= 0 {
					continue
				}
				whole = min(whole, n)
				if rest := max(n-others(root, path.Join(dir, group), v1, resident), 1); rest < left {
					left, file = rest, name
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return left, whole, file
}

// others returns the bytes of a control group that are not anonymous memory of this process. File
// caches do not count, because the kernel gives them back.
func others(root fs.FS, dir string, v1 bool, resident uint64) int64 {
	anonymous, shared := "anon", "shmem"
	if v1 {
		anonymous, shared = "total_rss", "total_shmem"
	}
	if resident == 0 {
		return 0
	}
	var anon, shmem int64
	text, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case anonymous:
			anon = max(n-int64(resident), 0)
		case shared:
			shmem = max(n, 0)
		}
	}
	return anon + min(shmem, math.MaxInt64-anon)
}

// goGroup deducts from the group's limit what this process has from C or mmap. mapped is what the
// Go runtime has from the system, in bytes.
func (m memory) goGroup(mapped uint64) int64 {
	if m.group == math.MaxInt64 || m.resident <= mapped {
		return m.group
	}
	return max(m.group-int64(m.resident-mapped), 1)
}

func kibibytes(root fs.FS, file, name string) uint64 {
	text, _ := fs.ReadFile(root, file)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 54)
			return kib << 10
		}
	}
	return 0
}

func limitAttr(key string, limit int64) slog.Attr {
	if limit == math.MaxInt64 {
		return slog.String(key, "none")
	}
	return slog.Int64(key, limit)
}
