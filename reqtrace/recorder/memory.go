package recorder

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

const analysisMemory = 64 << 20

// memoryLeft returns how many more bytes this process may take, by GOMEMLIMIT and on Linux by its
// cgroup's limit. Without a limit it is the largest number.
func memoryLeft() int64 {
	left := int64(math.MaxInt64)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(used)
		left = limit - int64(used[0].Value.Uint64()-used[1].Value.Uint64())
	}
	return min(left, groupLeft("/sys/fs/cgroup"))
}

// groupLeft reads a cgroup of version 2 or 1. It does not count pages of files that the kernel
// would drop first.
func groupLeft(folder string) int64 {
	for _, g := range []struct{ limit, used, stat, dropped string }{
		{"memory.max", "memory.current", "memory.stat", "inactive_file "},
		{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file "},
	} {
		limit, ok := number(filepath.Join(folder, g.limit))
		used, known := number(filepath.Join(folder, g.used))
		if !ok || !known {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(folder, g.stat))
		for line := range strings.Lines(string(stat)) {
			if text, ok := strings.CutPrefix(line, g.dropped); ok {
				if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
					used -= n
				}
			}
		}
		return limit - used
	}
	return math.MaxInt64
}

func number(file string) (n int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}
