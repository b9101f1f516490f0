// Package gcgatetest simulates a garbage collector to test signals, turns and adapters of
// evenkeel.dev/gcgate. Set gcgate.Options.Collector to a [Heap]. Many gates can then run in one
// test, and in a bubble of testing/synctest minutes of collections take milliseconds.
//
// A Heap collects by itself when the runtime would. It shows nothing about speed.
package gcgatetest
