// Package uring is a backend of package aio over epoll and io_uring: epoll says which descriptors are
// ready, and a ring (io_uring(7), Linux 5.6 and later) carries out all transfers that may succeed by
// one call. What the kernel can do is found out by trying it. Functions name their counterpart in
// liburing.
//
// No transfer waits in the kernel. One that did would end only when the thread that submitted it
// runs the work that is left for it (task work), and Go lends that thread to other goroutines: while
// it hung in a call that no signal interrupts, as a disk's or clone(2)'s is, the completion could not
// be had by anybody. ARCHITECTURE.md has the alternatives that were measured.
//
// Invariant of its unsafe code: the rings are mapped for as long as a ring is open, and words that the
// kernel changes are read and written with atomics only. Memory named by a submission is referenced
// from [Backend]'s queue, on the heap, until io_uring_enter(2) has returned, and then the kernel is
// done with it: Go's collector does not move it, and does not free it. Should a kernel keep a transfer
// all the same, the ring is of no use any more, and what it kept is never freed: close(2) of a ring
// does not wait for it. The pages of the rings are the kernel's own, so to unmap them takes nothing
// away from it.
package uring
