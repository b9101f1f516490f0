// Package aiosuite holds every backend of package aio to one contract. [Run] is the conformance
// suite that each of them passes, and [Play] carries out a random program of operations against a
// model.
//
// A [Backend] drives ends of [Pair] for an [aio.Watcher] without a kernel: in a testing/synctest
// bubble with virtual time, in the way of io_uring or in that of epoll, and with faults that a seed
// draws. It also notes what the Watcher does that the interface of a backend forbids. Package
// aio/aiotest shows users what of that their own tests need.
//
// Caveat: the network has no latency of its own.
package aiosuite
