// Package loadgen puts load on a service, over HTTP or by any client, and measures latency as its
// clients would see it.
//
// There are two loops (Schroeder, Wierman, Harchol-Balter: "Open Versus Closed: A Cautionary Tale",
// NSDI 2006):
//
//   - Closed ([Options].Rate is 0): each of Connections sends its next request after the answer to the last.
//     It finds a service's capacity. Its tail flatters, because a stalled service gets less load
//     ("coordinated omission").
//   - Open (Rate > 0, or Stages or Times): requests are due at their times, whatever the service does.
//     Latency counts from the scheduled send. Use this loop for a p99.9. The times are evenly spaced,
//     random with a seed ([ArrivalsPoisson]), or recorded. The rate may go in steps and ramps ([Stage]).
//
// [Run] blocks until the load is over or its context ends, and returns a [Result]: HDR histograms,
// counts by status and by class of error, and a time series. A request that timed out is in the
// histograms with the time that it took. Other failures are counted apart. If the open loop's
// backlog grew to the end, [Result.Overload] says so. [Merge] adds the results of several
// generators, count by count. [RateSearch] looks for the highest rate at which a condition holds.
//
// The built-in client speaks HTTP/1.1 with keep-alive, over TCP or TLS, and HTTP/2 by ALPN or as
// h2c ([Protocol]). It does not follow redirects or ask for compression. Over HTTP/1.1 it sends a
// request whole before it reads the answer. In the open loop one goroutine on its own thread keeps
// the schedule and writes the requests, without a hand-off. It sends some 75,000 requests per
// second, and needs a GOMAXPROCS of at least 2. With 1 it is up to a millisecond late.
//
// [Options].Call puts any client under the same loops, such as SQL, Redis, gRPC or Kafka. A wake-up
// between the scheduled send and the call counts as latency.
//
// Goroutines run only inside Run. Run fails only with an [*evenkeel.OptionError].
package loadgen
