package runfile

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/internal/cputime"
)

const userHertz = 100 // of times in proc(5), a constant of the kernel's interface

func usageOf(service Watched) usage {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return usage{}
	}
	u, ok := parseStat(string(stat))
	if !ok {
		return usage{}
	}
	u.at = time.Now()
	u.own = cputime.Process().Seconds()
	u.elsewhere = service.Elsewhere
	if service.Processes != nil {
		u.processes = map[int]processUsage{}
		for _, pid := range service.Processes() {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if p, ok := parseProcess(string(stat)); ok && err == nil {
				u.processes[pid] = p
			}
		}
	}
	return u
}

// parseStat reads ticks: cpu user nice system idle iowait irq softirq steal ...
func parseStat(stat string) (u usage, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return u, false
	}
	var ticks [8]float64
	for i := range ticks {
		n, err := strconv.ParseUint(f[i+1], 10, 64)
		if err != nil {
			return u, false
		}
		ticks[i] = float64(n) / userHertz
		u.all += ticks[i]
	}
	u.busy, u.stolen = ticks[0]+ticks[1]+ticks[2], ticks[7]
	return u, true
}

// parseProcess reads pid (comm) state ..., where comm may hold anything.
func parseProcess(stat string) (p processUsage, ok bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, false
	}
	f := strings.Fields(stat[end+1:])
	if len(f) < 20 {
		return p, false
	}
	p.name, p.started = stat[open+1:end], f[19]
	for _, field := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return p, false
		}
		p.seconds += float64(n) / userHertz
	}
	return p, true
}
