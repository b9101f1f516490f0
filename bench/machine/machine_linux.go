// Package machine reads proc(5), pins processes to cores, and waits for a quiet machine.
package machine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"evenkeel.dev/examples/child"
)

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

// CPUTime returns a process's CPU time by clock_getcpuclockid(3), because /proc counts in ticks. It
// fails with EINVAL if the process has ended.
func CPUTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED
	var t syscall.Timespec
	_, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|sched), uintptr(unsafe.Pointer(&t)), 0)
	if e != 0 {
		return 0, fmt.Errorf("the CPU clock of process %d: %w", pid, e)
	}
	return time.Duration(t.Nano()), nil
}

// OwnTime returns this process's CPU time.
func OwnTime() time.Duration {
	t, _ := CPUTime(os.Getpid())
	return t
}

// PeakRSS returns a process's highest resident memory in bytes.
func PeakRSS(pid int) (int64, error) { return status(pid, "VmHWM") }

// RSS returns a process's resident memory in bytes.
func RSS(pid int) (int64, error) { return status(pid, "VmRSS") }

func status(pid int, field string) (int64, error) {
	return Bytes(fmt.Sprintf("/proc/%d/status", pid), field)
}

// Bytes returns the value of a line of a file of proc(5) that is in kB.
func Bytes(file, name string) (int64, error) {
	kib, err := strconv.ParseInt(strings.TrimSuffix(Field(file, name), " kB"), 10, 64)
	return kib << 10, err
}

// OwnBytes returns a process's own resident pages. RssShmem has the rings of io_uring.
func OwnBytes(pid int) (int64, error) {
	anonymous, err1 := status(pid, "RssAnon")
	shared, err2 := status(pid, "RssShmem")
	return anonymous + shared, errors.Join(err1, err2)
}

// Obey lets a driver signal this process. SIGTERM ends it. At SIGUSR1 it gives memory back to the
// system and prints settled, at SIGUSR2 it calls report.
func Obey(report func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for sig := range signals {
			switch sig {
			case syscall.SIGTERM:
				os.Exit(0)
			case syscall.SIGUSR1:
				debug.FreeOSMemory() // twice, because a sync.Pool keeps its memory for one collection
				debug.FreeOSMemory()
				fmt.Println("settled")
			case syscall.SIGUSR2:
				report()
			}
		}
	}()
}

// Hold opens some connections, which fill a server's pools of a fixed size, and prints warm. At a
// line of input it opens conns others, and prints held. It returns at the next line.
func Hold(conns int, open func(n int) error) error {
	input := bufio.NewReader(os.Stdin)
	for _, part := range []struct {
		conns int
		said  string
	}{{100, "warm"}, {conns, "held"}} {
		if err := open(part.conns); err != nil {
			return err
		}
		fmt.Println(part.said)
		if _, err := input.ReadString('\n'); err != nil && err != io.EOF {
			return err
		}
	}
	return nil
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
