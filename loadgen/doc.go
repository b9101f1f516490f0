// Package loadgen puts load on a service, over HTTP or any client, and measures latency as its clients would.
//
// Two loops, as the field names them (Schroeder, Wierman, Harchol-Balter: "Open Versus
// Closed: A Cautionary Tale", NSDI 2006):
//
//   - Closed ([Options].Rate is 0): each of Connections sends its next request when it has
//     the answer to the last. It finds a service's capacity. Its tail flatters: a stalled
//     service is sent less ("coordinated omission").
//   - Open (Rate > 0, or Stages or Times): requests are due at their times, whatever the service does.
//     Latency runs from the time a request was due, not from when it could be sent. This is the loop
//     for a p99.9. The times are evenly spaced, random with a seed ([ArrivalsPoisson]), or those of a
//     recorded trace; the rate may go in steps and ramps ([Stage]).
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
// The built-in client speaks HTTP/1.1 with keep-alive over TCP or TLS, and HTTP/2 where all servers
// offer it by ALPN, or as h2c where it is told to ([Protocol]). It does not follow
// redirects and asks for no compression. Over HTTP/1.1 it has sent a request whole before it reads the answer
// (so a service that echoes megabytes as they come needs HTTP/2 or Options.Transport). In the open loop
// one goroutine, locked to its thread, keeps the schedule and writes the requests itself, so
// that no hand-off stands between the time due and the wire; one pacer sends some 75,000
// requests/s. It needs GOMAXPROCS of at least 2 for that, and one more than there are CPUs is
// better; with 1 it is late by up to a millisecond.
//
// [Options].Call puts any client under the same loops, such as one of SQL, Redis, gRPC or Kafka; it costs a
// wake-up between the time due and the call, which counts.
//
// [RateSearch] looks for the highest rate at which a condition holds; what a step does and how it judges is the
// caller's.
//
// Package loadgen starts goroutines only inside Run and leaves none. Errors are in the
// Result; Run itself fails only on options that make no sense ([*evenkeel.OptionError]).
package loadgen
