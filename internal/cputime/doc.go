// Package cputime measures the CPU time of this process and its threads.
package cputime
