// Package aiotest provides connections in memory for tests of programs over package aio.
//
// A Watcher of [NewWatcher] drives the connections of [Pair] and [Listen]. It works in a
// testing/synctest bubble with virtual time. It behaves like io_uring or epoll, and a seed decides
// faults: short transfers, wrong readiness, late or reordered completions, missing memory, and
// cancellations. The network has no latency. Close each Watcher before its bubble ends.
package aiotest
