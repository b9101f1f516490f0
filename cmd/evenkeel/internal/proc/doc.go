// Package proc starts a command in a process group of its own, and ends all of it: a child is
// never left behind, whether it stops when told, ignores the signal or has started others.
package proc
