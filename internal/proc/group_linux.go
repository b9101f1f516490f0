package proc

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// attributes makes a group. The kernel kills the child with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func lockToParent() { runtime.LockOSThread() }

// Of waitid(2).
const (
	idPid   = 1          // P_PID
	wExited = 0x4        // WEXITED
	wNoWait = 0x01000000 // WNOWAIT
)

// waitExit leaves the ended process a zombie. Until it is reaped, its number and its group's are
// not used again.
func (p *Process) waitExit() {
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPid, uintptr(p.Pid()), 0, wExited|wNoWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// alive reports whether the group has a process. Signal 0 would reach the zombie.
func (p *Process) alive() bool {
	for range p.members() {
		return true
	}
	return false
}

// members yields the /proc folders of the group's live processes.
func (p *Process) members() iter.Seq[string] {
	return func(yield func(string) bool) {
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			return
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
			_, err = fmt.Sscan(string(rest), &state, &ppid, &pgrp)
			if err == nil && pgrp == p.Pid() && state != "Z" && state != "X" && !yield(filepath.Dir(name)) {
				return
			}
		}
	}
}

// PeakRSS returns the sum of the peaks of the group's live processes in bytes (VmHWM). getrusage(2)
// would begin with the parent's size at the fork.
func (p *Process) PeakRSS() (sum int64) {
	for dir := range p.members() {
		sum += peak(dir)
	}
	return sum
}

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

func PeakRSSOf(pids []int) (sum int64) {
	for _, pid := range pids {
		sum += peak(filepath.Join("/proc", strconv.Itoa(pid)))
	}
	return sum
}
