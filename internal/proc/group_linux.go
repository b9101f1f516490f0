package proc

import (
	"fmt"
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
func (p *Process) alive() bool { return len(p.Processes()) > 0 }

// Processes returns the group's live processes.
func (p *Process) Processes() (pids []int) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
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
		pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && err2 == nil && pgrp == p.Pid() && state != "Z" && state != "X" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// PeakRSS returns the sum of the peaks of live processes in bytes (VmHWM). getrusage(2) would begin
// with the parent's size at the fork.
func PeakRSS(pids []int) (sum int64) {
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err == nil { // else it has just ended
			sum += kib << 10
		}
	}
	return sum
}
