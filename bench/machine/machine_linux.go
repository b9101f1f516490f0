// Package machine reads what processes use of the machine and what it has, out of proc(5). What
// machine it is, evenkeel says: see harness.Machine.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Memory returns a field of /proc/meminfo in bytes, 0 where there is none.
func Memory(name string) int64 {
	var kib int64
	_, _ = fmt.Sscanf(Field("/proc/meminfo", name), "%d kB", &kib)
	return kib << 10
}

// Field returns the value of the first "name : value" line of a file of proc(5), or "".
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
