// Package textfmt writes figures as people read them: durations, bytes and counts with three digits
// and a unit, shares, and tables for a terminal. The command, its pages and the verdict on a trace
// write through it, so that a figure looks the same wherever it stands.
package textfmt
