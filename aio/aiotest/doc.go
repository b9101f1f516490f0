// Package aiotest tests programs and backends of package aio.
//
// [Pair] makes connections that only this process sees, and a [Backend] drives them for a
// [aio.Watcher] without a kernel ([aio.NewOver]): in a testing/synctest bubble with virtual time,
// in the way of io_uring or in that of epoll, and with faults that a seed draws: short transfers,
// readiness that was none, completions that are late or come in another order, memory that the
// kernel lacks, cancellations that nobody asked for or that come too late. So a test sees in
// milliseconds, and again with the same seed, what a network does in weeks.
//
// [Run] is the conformance suite that every backend of package aio passes, and [Play] carries out
// a random program of operations against a model.
//
// Caveats: the network has no latency of its own. The garbage collector runs its clean-ups outside
// a bubble, where they may not touch what belongs to it: in a bubble, keep connections reachable,
// and close each Watcher.
package aiotest
