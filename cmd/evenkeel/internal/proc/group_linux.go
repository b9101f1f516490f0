package proc

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Of waitid(2).
const (
	idPid   = 1          // P_PID
	wExited = 0x4        // WEXITED
	wNoWait = 0x01000000 // WNOWAIT
)

// waitExit waits until the process has ended, and leaves it a zombie. Until it is reaped, no other
// process gets its number or its group's.
func (p *Process) waitExit() {
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPid, uintptr(p.Pid()), 0, wExited|wNoWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// alive reports whether a process of the group is left. Signal 0 would also reach the zombie.
func (p *Process) alive() bool {
	for range p.members() {
		return true
	}
	return false
}

// members yields the /proc folder of each process of the group that has not ended.
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
