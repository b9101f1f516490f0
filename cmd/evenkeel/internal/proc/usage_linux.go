package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PeakRSS returns the sum of the largest resident sets so far of the processes in the group, in
// bytes (proc(5): VmHWM). Call it while they run. getrusage(2) would not do: its figure begins
// with the resident set of the parent at the time of the fork.
func (p *Process) PeakRSS() (sum int64) {
	for dir := range p.members() {
		sum += peak(dir)
	}
	return sum
}

// Processes returns the ids of the processes in the group.
func (p *Process) Processes() (pids []int) {
	for dir := range p.members() {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func peak(dir string) int64 {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0 // it has just ended
	}
	return kib << 10
}

// PeakRSSOf is PeakRSS of processes that this one has not started.
func PeakRSSOf(pids []int) (sum int64) {
	for _, pid := range pids {
		sum += peak(filepath.Join("/proc", strconv.Itoa(pid)))
	}
	return sum
}
