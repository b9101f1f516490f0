package gcgate

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memory is what there is for this process, in bytes.
type memory struct {
	group     int64  // limit of its control group; math.MaxInt64: none, or not known
	available uint64 // what the machine can give to new work; 0: not known
}

// readMemory asks Linux. root is the root of the file system; what is not there, as on other
// systems, is not known.
func readMemory(root fs.FS) memory {
	m := memory{group: groupLimit(root), available: meminfo(root, "MemAvailable")}
	if total := meminfo(root, "MemTotal"); total > 0 && uint64(m.group) > total {
		m.group = math.MaxInt64 // cgroup v1 writes "none" as a very large number
	}
	return m
}

// groupLimit returns the lowest memory limit of the process's control groups and of those
// above them, in cgroup v1 and v2. Inside a container /proc may name a path of the host's that
// is not mounted there: then the last step, to the root of the mount, finds the container's own.
func groupLimit(root fs.FS) int64 {
	limit := int64(math.MaxInt64)
	list, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(list)) { // ID:controllers:path, "0::path" in v2
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		dir, file := "sys/fs/cgroup", "memory.max"
		switch {
		case !ok:
			continue
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case id != "0":
			continue
		}
		for group = path.Join("/", group); ; group = path.Dir(group) {
			text, _ := fs.ReadFile(root, path.Join(dir, group, file))
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// meminfo returns a figure of /proc/meminfo in bytes, 0 when it is not there.
func meminfo(root fs.FS, name string) uint64 {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 54)
			return kib << 10
		}
	}
	return 0
}
