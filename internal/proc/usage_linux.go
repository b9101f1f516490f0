package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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

// CPUSoFar returns the user and system time of the processes in the group, and of those children of theirs that have
// ended (proc(5): stat), to a hundredth of a second. Call it while they run.
func (p *Process) CPUSoFar() (sum time.Duration) {
	for dir := range p.members() {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has just ended
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, field := range f[min(11, len(f)):min(15, len(f))] { // utime, stime, cutime, cstime
			if n, err := strconv.ParseInt(field, 10, 64); err == nil {
				sum += time.Duration(n) * (time.Second / userHertz)
			}
		}
	}
	return sum
}

// userHertz is the unit of proc(5)'s times: a constant of the kernel's interface.
const userHertz = 100

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
