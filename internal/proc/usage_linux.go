package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// PeakRSS returns the sum of the largest resident sets so far of the processes in the group, in
// bytes (proc(5): VmHWM). Call it while they run. getrusage(2) would not do: its figure begins
// with the resident set of the parent at the time of the fork.
func (p *Process) PeakRSS() (sum int64) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (comm) state ppid pgrp ...; comm may hold anything.
		var state string
		var ppid, pgrp int
		rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
		if _, err := fmt.Sscan(string(rest), &state, &ppid, &pgrp); err == nil && pgrp == p.Pid() {
			sum += peak(filepath.Dir(name))
		}
	}
	return sum
}

func peak(dir string) int64 {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0 // a zombie has none
	}
	return kib << 10
}
