// Package machine reads proc(5), pins processes to cores, and waits for a quiet machine.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Memory returns a field of /proc/meminfo in bytes, or 0.
func Memory(name string) int64 {
	var kib int64
	_, _ = fmt.Sscanf(Field("/proc/meminfo", name), "%d kB", &kib)
	return kib << 10
}

// Field returns the value of a "name : value" line of a file of proc(5), or "".
func Field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if k, v, _ := strings.Cut(sc.Text(), ":"); strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
