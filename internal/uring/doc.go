// Package uring is a backend of package aio over io_uring: the rings that are shared with the
// kernel (io_uring(7), Linux 5.7 and later) and the operations on them. What the kernel can do is
// found out by asking it. Functions name their counterpart in liburing.
//
// Invariant of its unsafe code: the rings are mapped for as long as a [Ring] is open, and words
// that the kernel changes are read and written with atomics only. Memory named by a submission is
// referenced from [Backend]'s slots, on the heap, until its completion was taken: Go's collector
// does not move it, and does not free it. What has no completion by the time the ring is closed is
// never freed: close(2) of a ring does not wait for what the kernel has under way. The pages of the
// rings are the kernel's own, so to unmap them takes nothing away from it.
package uring
