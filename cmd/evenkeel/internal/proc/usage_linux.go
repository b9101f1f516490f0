package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PeakRSS returns the sum of the largest resident sets so far of the group's processes, in bytes
// (VmHWM). Call it while they run. getrusage(2) would begin with the parent's size at the fork.
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

// PeakRSSOf is PeakRSS of other processes.
func PeakRSSOf(pids []int) (sum int64) {
	for _, pid := range pids {
		sum += peak(filepath.Join("/proc", strconv.Itoa(pid)))
	}
	return sum
}
