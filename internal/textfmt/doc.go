// Package textfmt writes figures for people: durations, bytes, counts and shares with a unit, and
// tables for a terminal.
package textfmt
