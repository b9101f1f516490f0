// Package cpuwatch reads the kernel's counts of a process's CPU time: how often its quota stopped
// it (cpu.stat), and how long its threads ran and waited (schedstat).
package cpuwatch
