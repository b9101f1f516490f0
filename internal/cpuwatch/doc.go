// Package cpuwatch reads what the kernel counts of a process's CPU time. It reads how often the
// quota of its control groups stopped the process (cpu.stat), and how long each of its threads ran
// and waited for a CPU (schedstat).
package cpuwatch
