// Package gcgatetest has a garbage collector that is none, for tests of what works with
// evenkeel.dev/gcgate: a signal, turns, an adapter that counts requests.
//
// A [Heap] given as gcgate.Options.Collector makes a gate independent of the process that it runs
// in: any number of gates can run in one test, none of them touches the real collector, and in a
// bubble of testing/synctest minutes of collections take milliseconds. The gate itself is the
// real one, with all its states, bounds and warnings.
//
// A Heap models what the gate looks at: how fast the heap fills, what a collection leaves of it
// and how long it takes, and when the runtime would collect by itself. It has no requests, no
// assists and no cost on the CPU: it shows whether something is done at the right time, never how
// fast it is.
package gcgatetest
