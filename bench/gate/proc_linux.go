package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
)

// familyCPU returns the CPU time of a process and of its children that run.
func familyCPU(pid int) (time.Duration, error) {
	all, err := machine.CPUTime(pid)
	files, cerr := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // by the thread that started them
	for _, name := range files {
		b, _ := os.ReadFile(name) // a thread may have ended
		for _, s := range strings.Fields(string(b)) {
			child, aerr := strconv.Atoi(s)
			cpu, _ := machine.CPUTime(child) // it may have ended
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

// pinned returns the command line that runs argv on one core.
func pinned(core int, argv ...string) []string {
	return append([]string{"taskset", "-c", strconv.Itoa(core)}, argv...)
}

// nicer returns the command line that runs argv nicer than this process.
func nicer(argv ...string) []string {
	return append([]string{"nice", "-n", strconv.Itoa(niceness)}, argv...)
}

// switches returns how often the threads of a process were switched, of their own accord and not.
func switches(pid int) (n int64, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no process %d", pid)
	}
	for _, name := range files {
		for _, field := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			x, perr := strconv.ParseInt(strings.TrimSpace(machine.Field(name, field)), 10, 64)
			if perr == nil { // a thread may have ended
				n += x
			}
		}
	}
	return n, err
}
