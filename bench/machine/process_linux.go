package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of times in /proc. USER_HZ is 100 on all platforms of Go.
const Tick = 10 * time.Millisecond

// CPUTime returns a process's CPU time.
func CPUTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(b))
}

// parseStat adds utime and stime. The command's name, in parentheses, may hold anything.
func parseStat(stat string) (time.Duration, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("not a line of /proc/PID/stat: %.80q", stat)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * Tick, errors.Join(err1, err2)
}

// PeakRSS returns a process's highest resident memory in bytes.
func PeakRSS(pid int) (int64, error) { return status(pid, "VmHWM") }

// RSS returns a process's resident memory in bytes.
func RSS(pid int) (int64, error) { return status(pid, "VmRSS") }

func status(pid int, field string) (int64, error) {
	kib, err := strconv.ParseInt(strings.TrimSuffix(Field(fmt.Sprintf("/proc/%d/status", pid), field), " kB"), 10, 64)
	return kib << 10, err
}

// OwnBytes returns a process's own resident pages, in bytes. RssShmem has the rings of io_uring.
func OwnBytes(pid int) (sum int64, err error) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	for _, name := range []string{"RssAnon", "RssShmem"} {
		kib, perr := strconv.ParseInt(strings.TrimSuffix(Field(status, name), " kB"), 10, 64)
		sum, err = sum+kib<<10, errors.Join(err, perr)
	}
	return sum, err
}
