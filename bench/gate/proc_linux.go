package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc (USER_HZ, which is 100 wherever Go runs).
const tick = 10 * time.Millisecond

// cpuTime returns the CPU time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPUTime(string(b))
}

// parseCPUTime adds up utime and stime of a line of /proc/PID/stat. The command's name, in
// parentheses, may hold anything.
func parseCPUTime(stat string) (time.Duration, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("not a line of /proc/PID/stat: %.80q", stat)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// peakRSS returns the most memory that a process has had resident, in bytes.
func peakRSS(pid int) (int64, error) {
	kib, err := strconv.ParseInt(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", pid), "VmHWM"), " kB"), 10, 64)
	return kib << 10, err
}

// field returns the value of the first "name : value" line of a file of proc(5), or "".
func field(file, name string) string {
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

// familyCPU returns the CPU time of a process and of its children that run.
func familyCPU(pid int) (time.Duration, error) {
	all, err := cpuTime(pid)
	files, cerr := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // by the thread that started them
	for _, name := range files {
		b, _ := os.ReadFile(name) // a thread may have ended
		for _, s := range strings.Fields(string(b)) {
			child, aerr := strconv.Atoi(s)
			cpu, _ := cpuTime(child) // it may have ended
			all += cpu
			cerr = errors.Join(cerr, aerr)
		}
	}
	return all, errors.Join(err, cerr)
}

// jiffies are the machine's CPU times since its start, in ticks: all of them, what processes
// used, and what the hypervisor gave to others.
type jiffies struct{ total, used, steal float64 }

func readJiffies() (jiffies, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return jiffies{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	var j jiffies
	for i, s := range strings.Fields(line) {
		if i == 0 || i > 8 { // "cpu"; guest times are in user time already
			continue
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return j, fmt.Errorf("/proc/stat: %w", err)
		}
		j.total += x
		if i <= 3 { // user, nice, system
			j.used += x
		}
		if i == 8 {
			j.steal = x
		}
	}
	return j, nil
}

// stealSince returns the share of CPU time that others took, 0 to 1.
func (j jiffies) stealSince(before jiffies) float64 {
	if j.total <= before.total {
		return 0
	}
	return (j.steal - before.steal) / (j.total - before.total)
}

// raise gives this process priority over those that it will start by [renice]: client and
// balancer stand for other machines. Threads that start later inherit it.
func raise() error {
	tasks, err := filepath.Glob("/proc/self/task/*")
	for _, t := range tasks {
		tid, aerr := strconv.Atoi(filepath.Base(t))
		err = errors.Join(err, aerr, syscall.Setpriority(syscall.PRIO_PROCESS, tid, -niceness))
	}
	return err
}

// niceness is how much nicer the replicas are than client and balancer.
const niceness = 10

// pinned returns the command line that runs argv on one core, nicer than this process.
func pinned(core int, argv ...string) []string {
	return append([]string{"nice", "-n", strconv.Itoa(niceness), "taskset", "-c", strconv.Itoa(core)}, argv...)
}

// machine describes where figures come from.
type machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPU         string `json:"cpu,omitempty"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	Go          string `json:"go"`
}

func thisMachine() machine {
	m := machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name")}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	m.MemoryBytes = memory("MemTotal")
	return m
}

// memory returns a field of /proc/meminfo in bytes, 0 where there is none.
func memory(name string) int64 {
	var kib int64
	_, _ = fmt.Sscanf(field("/proc/meminfo", name), "%d kB", &kib)
	return kib << 10
}
