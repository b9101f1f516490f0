// Package reqtrace says why the slowest requests of a Go service were slow, out of an execution
// trace (runtime/trace): where each request's time went, to the nanosecond, and what the slow
// ones have more of than the usual ones.
//
// [Read] hands out the requests of a trace, each with its [Parts]; [Analyze] takes them together
// by percentiles. The command evenkeel explain prints what Analyze finds.
//
// # A request
//
// A service marks its requests with package reqtrace/region, or the user names regions of the
// program's own (Options.Region). Where a trace has neither, the turns of net/http's connections
// are the requests: from a wake-up to the wait after an answer was written. (HTTP/2 serves its
// streams in other goroutines; it needs the middleware.)
//
// A request's time begins when its goroutine is woken by the network, or by what else it waited
// for, and ends at its first wait after the region: what a handler's own timer sees leaves out
// the wait for a processor before it, which is often most of the tail. What the edges of the trace cut off
// is counted, not taken apart.
//
// # Causes
//
// Every nanosecond has one [Cause]. A wait for a lock or a channel follows the goroutine that
// ended it, and those that that one waited for: what the scheduler and the collector did to them
// is what it was; the rest of a lock's wait is the lock's. A channel's wait is somebody else's
// work: of a goroutine that the request started, its own time; of another, its own since that
// one last woke somebody else, and [CauseChannel] before. A runnable goroutine waits for the world to
// start, for an idle processor to wake up, or for those that have the processors: mark workers and
// others, in proportion.
//
// # The collector's share
//
// Direct attribution misses most of it: workers take processors, a queue builds up, and the wait is
// booked as one for others. [WhatIf] replays the requests without the collector, and with it, to
// show the model's error. Both shares belong in a report.
//
// # Limits
//
// A trace cannot show what the kernel did: a thread that waits for a core, steal, page faults
// and what happens inside a system call or C all look like running, or like the call. Nor does it know locks: their
// place in the code is what is reported. Traces of Go 1.22 and later are read, by golang.org/x/exp/trace;
// of one that is cut off, what comes before ([ErrBroken]).
package reqtrace
