// Package loadgen puts load on a service, over HTTP or with any client, and measures latency as the
// service's clients would see it.
//
// There are two loops ("Open Versus Closed: A Cautionary Tale", NSDI 2006):
//
//   - Open ([Options].Rate, Stages or Times): requests are due at their times, whatever the service does.
//     Latency counts from the scheduled send. Use this loop for a p99.9.
//   - Closed (without them): each of Connections sends its next request after the last answer. It finds
//     a service's capacity. Its tail looks too good, because a stalled service gets less load.
//
// [Run] returns a [Result]: HDR histograms, counts by status and by class of failure, and a time
// series. The histograms include requests that timed out or were never sent, but no other failures.
//
// The built-in client speaks HTTP/1.1 and HTTP/2 ([Protocol]). It does not follow redirects or ask
// for compression. In the open loop one goroutine on its own thread keeps the schedule and writes
// some 75,000 requests per second. It needs a GOMAXPROCS of at least 2. With 1 it is up to a
// millisecond late.
//
// [Options].Call puts any other client under the same loops, such as SQL, Redis, gRPC or Kafka.
package loadgen
