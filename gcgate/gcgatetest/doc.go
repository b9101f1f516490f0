// Package gcgatetest provides a simulated garbage collector for testing signals, turns and adapters
// of evenkeel.dev/gcgate.
//
// Set gcgate.Options.Collector to a [Heap]. Any number of gates can then run in one test, and none
// touches the real collector. In a bubble of testing/synctest minutes of collections take
// milliseconds.
//
// A Heap models how fast the heap fills, what a collection leaves of it and how long it takes, and
// when the runtime would collect by itself. It has no requests, no assists and no cost on the CPU,
// so it shows nothing about speed.
package gcgatetest
