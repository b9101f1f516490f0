// Package gcgatetest provides a simulated garbage collector for testing signals, turns and adapters
// of evenkeel.dev/gcgate. Set gcgate.Options.Collector to a [Heap]. Any number of gates can then
// run in one test, and in a bubble of testing/synctest minutes of collections take milliseconds.
//
// A Heap models how fast the heap fills, what a collection leaves of it, how long it takes, and
// when the runtime would collect by itself. It shows nothing about speed.
package gcgatetest
