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
