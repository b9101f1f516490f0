// Package machine reads proc(5), pins processes to cores, and waits for a quiet machine.
package machine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/examples/child"
)

// Memory returns a field of /proc/meminfo in bytes, or 0.
func Memory(name string) int64 {
	var kib int64
	_, _ = fmt.Sscanf(Field("/proc/meminfo", name), "%d kB", &kib)
	return kib << 10
}

// Field returns the value of a "name : value" line of a file of proc(5), or "".
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

// BusyLoops starts n shells that compute until the caller calls end. ctx bounds their start.
func BusyLoops(ctx context.Context, n int) (end func(), err error) {
	var loops []*child.Child
	end = func() {
		for _, c := range loops {
			c.Kill()
		}
	}
	for range n {
		c, err := child.Start(ctx, child.Options{Args: []string{"sh", "-c", "while :; do :; done"}})
		if err != nil {
			end()
			return nil, err
		}
		loops = append(loops, c)
	}
	return end, nil
}

// Tick is the unit of times in /proc (USER_HZ).
const Tick = 10 * time.Millisecond

func CPUTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(b))
}

// A command's name may hold parentheses.
func parseStat(stat string) (time.Duration, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("not a line of /proc/PID/stat: %.80q", stat)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * Tick, errors.Join(err1, err2)
}

// OwnTime returns this process's CPU time.
func OwnTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// PeakRSS returns a process's highest resident memory in bytes.
func PeakRSS(pid int) (int64, error) { return status(pid, "VmHWM") }

// RSS returns a process's resident memory in bytes.
func RSS(pid int) (int64, error) { return status(pid, "VmRSS") }

func status(pid int, field string) (int64, error) {
	kib, err := strconv.ParseInt(strings.TrimSuffix(Field(fmt.Sprintf("/proc/%d/status", pid), field), " kB"), 10, 64)
	return kib << 10, err
}

// OwnBytes returns a process's own resident pages. RssShmem has the rings of io_uring.
func OwnBytes(pid int) (int64, error) {
	anonymous, err1 := status(pid, "RssAnon")
	shared, err2 := status(pid, "RssShmem")
	return anonymous + shared, errors.Join(err1, err2)
}

// Times are the machine's CPU times since its start.
type Times struct{ Total, Used, Steal time.Duration }

func ReadTimes() (Times, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Times{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	var t Times
	for i, s := range strings.Fields(line) {
		if i == 0 || i > 8 { // user time has guest times
			continue
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return t, fmt.Errorf("/proc/stat: %w", err)
		}
		d := time.Duration(n) * Tick
		t.Total += d
		if i <= 3 { // user, nice, system
			t.Used += d
		}
		if i == 8 {
			t.Steal = d
		}
	}
	return t, nil
}

// StealSince returns the share of CPU time that the hypervisor gave to others, 0 to 1.
func (t Times) StealSince(before Times) float64 {
	if t.Total <= before.Total {
		return 0
	}
	return float64(t.Steal-before.Steal) / float64(t.Total-before.Total)
}
