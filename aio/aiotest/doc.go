// Package aiotest is for the tests of programs over package aio: connections in memory, and a
// Watcher that needs no kernel for them.
//
// [Pair] makes connections that only this process sees, and a Watcher of [NewWatcher] drives them:
// in a testing/synctest bubble with virtual time, in the way of io_uring or in that of epoll, and
// with faults that a seed draws: short transfers, readiness that was none, completions that are
// late or come in another order, memory that the kernel lacks, cancellations that nobody asked for
// or that come too late. [Listen] makes a listener for such connections. So a test sees in
// milliseconds, and again with the same seed, what a network does in weeks. [Sockets] makes
// connections of the operating system, for a Watcher of aio.New.
//
// Caveats: the network in memory has no latency of its own. Close each Watcher before its bubble ends.
package aiotest
