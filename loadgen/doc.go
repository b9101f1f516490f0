// Package loadgen puts HTTP load on a service and measures latency as its clients would.
//
// Two loops, as the field names them (Schroeder, Wierman, Harchol-Balter: "Open Versus
// Closed: A Cautionary Tale", NSDI 2006):
//
//   - Closed ([Options].Rate is 0): each of Connections sends its next request when it has
//     the answer to the last. It finds a service's capacity. Its tail flatters: a stalled
//     service is sent less ("coordinated omission").
//   - Open (Rate > 0): requests are due at fixed times, whatever the service does. Latency
//     runs from the time a request was due, not from when it could be sent. This is the loop
//     for a p99.9.
//
// [Run] blocks until the load is over or its context ends; either way it returns a
// [Result]: HDR histograms, counts by status and by class of error, a time series. A request
// that timed out is in the histograms with the time it took, since a tail without it would
// look best when the service is worst; requests that failed otherwise are counted apart.
//
// Targets have weights, and classes whose figures are kept apart ([TargetClass]). Where the open
// loop's backlog grew to the end, [Result.Overload] says so, and what the service answered instead.
// [Merge] adds the results of several generators of one load, count by count: percentiles have no sum.
//
// The built-in client speaks HTTP/1.1 with keep-alive over TCP or TLS, does not follow
// redirects, asks for no compression, and has sent a request whole before it reads the answer
// (so a service that echoes megabytes as they come needs Options.Transport). In the open loop
// one goroutine, locked to its thread, keeps the schedule and writes the requests itself, so
// that no hand-off stands between the time due and the wire; one pacer sends some 75,000
// requests/s. It needs GOMAXPROCS of at least 2 for that, and one more than there are CPUs is
// better; with 1 it is late by up to a millisecond. For other protocols set Options.Transport.
//
// Package loadgen starts goroutines only inside Run and leaves none. Errors are in the
// Result; Run itself fails only on options that make no sense ([*OptionError]).
package loadgen
