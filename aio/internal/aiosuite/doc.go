// Package aiosuite tests the backends of package aio. [Run] is the conformance suite that each of
// them passes. [Play] compares a random program of operations with a model.
//
// A [Backend] takes the place of the kernel. It works in bubbles of testing/synctest, as io_uring
// does or as epoll does, and with faults. Package aiotest is its public face.
package aiosuite
