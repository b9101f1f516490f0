// Package cpuwatch reads what the kernel counts of a process's CPU time: how often the quota of its control groups stopped it
// (cpu.stat), and how long each of its threads ran and waited for a CPU (schedstat).
package cpuwatch
