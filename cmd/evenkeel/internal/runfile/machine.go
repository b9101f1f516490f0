package runfile

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"evenkeel.dev/internal/textfmt"
)

// Machine is where runs were measured.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPU         string `json:"cpu,omitempty"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	Go          string `json:"go"`
}

// ThisMachine describes the machine as far as it tells (Linux: proc(5)).
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	m.CPU = procField("/proc/cpuinfo", "model name")
	var kib int64
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		m.MemoryBytes = kib << 10
	}
	return m
}

func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		k, v, _ := strings.Cut(sc.Text(), ":")
		if strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Tool names this build of evenkeel.
func Tool() string {
	v := "devel"
	if bi, ok := debug.ReadBuildInfo(); ok {
		if bi.Main.Version != "" && bi.Main.Version != "(devel)" {
			v = bi.Main.Version
		}
		stamp := ""
		for _, s := range bi.Settings {
			switch {
			case s.Key == "vcs.revision":
				stamp = " " + s.Value[:min(12, len(s.Value))] + stamp
			case s.Key == "vcs.modified" && s.Value == "true":
				stamp += "+dirty"
			}
		}
		if v == "devel" {
			v += stamp
		}
	}
	return "evenkeel " + v
}

// String describes the machine in one line.
func (m Machine) String() string {
	if m == (Machine{}) {
		return "a machine that its file does not describe"
	}
	parts := []string{fmt.Sprintf("%d cores", m.Cores)}
	if m.CPU != "" {
		parts[0] += " of " + m.CPU
	}
	if m.MemoryBytes > 0 {
		parts = append(parts, textfmt.Bytes(float64(m.MemoryBytes)))
	}
	parts = append(parts, strings.TrimSpace(m.OS+"/"+m.Arch+" "+m.Kernel), m.Go)
	return strings.Join(parts, ", ")
}
