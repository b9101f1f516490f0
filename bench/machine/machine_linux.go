// Package machine describes the machine that a benchmark ran on, out of proc(5).
package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is where figures come from.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPU         string `json:"cpu,omitempty"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	Go          string `json:"go"`
}

// This describes the machine that the program runs on.
func This() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: Field("/proc/cpuinfo", "model name")}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	m.MemoryBytes = Memory("MemTotal")
	return m
}

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
