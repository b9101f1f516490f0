// Package reqtrace says why the slowest requests of a Go service were slow, out of an execution
// trace (runtime/trace): where each request's time went, to the nanosecond, and what the slow
// ones have more of than the usual ones.
//
// [Read] hands out the requests of a trace, each with its [Parts]; [Analyze] takes them together
// by percentiles. The command evenkeel explain prints what Analyze finds.
//
// # A request
//
// Requests are found without a mark by what goroutines of servers do. Of HTTP/1 they are the turns of
// net/http's connections: from a wake-up to the wait after an answer was written. HTTP/2 (the standard
// library's and golang.org/x/net's), gRPC and net/rpc have a goroutine for each: it is the request, from its
// creation to its end. gRPC's stream workers, and whatever Options.Requests names, take one piece of work
// after the other: a request is what such a goroutine does from one wait for work to the next. Several of
// these in a program are found beside each other. Where nothing is found, a [NoRequestsError] lists functions that may
// have waited for work.
//
// Or a service marks its requests with package reqtrace/region, or the user names regions of the
// program's own (Options.Region): then these are the requests, and what Options.Requests names; others are
// left out and counted (Report.Unmarked). So are requests to net/http/pprof and to this module's status pages
// (Report.Measured).
//
// Each request has a class ([Request].Class), of which Report.Classes is the list. It is told by the route that
// region.Middleware found, else by a stack that was seen in the request's handler: one that never waited there
// left none, and has the class "". So a class's share of all requests may be larger than it seems.
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
// # Places and holders
//
// A time has a place in the code: the program's innermost function, where the program is what is
// neither the standard library's nor of a module that lies in the module cache or under vendor. It
// says what was asked for there as well, and of a wait who had what was waited for: the goroutine
// at the root of the chain of those that waited for each other, by where it let go, and what it did
// meanwhile ([Blame]). A request's goroutine does not work for another request: where it ends that
// one's wait, it had what was waited for.
//
// # The collector's share
//
// The causes say what a request itself lost to the collector. The queue that builds up behind mark
// workers hits later requests, and counts as a wait for other goroutines. So the collector's share
// is a lower bound. The truth is a run without a collector (GOGC=off), where there is memory for
// it.
//
// # Samples
//
// A trace does not know which function runs. While a CPU profile is taken, its samples are in the
// trace, and each [Band] says where its requests were running ([Sample]), by as many samples as
// there are.
//
// # The machine
//
// Where all processors are silent though there is work, it is most likely the machine that stood
// still, and not the program: [CauseMachine]. That time is in a request's parts and in
// [Report].Machine, and in nothing that compares requests.
//
// # Limits
//
// A trace cannot show what the kernel did: one thread that waits for a core, short steal, page
// faults and what happens inside a system call or C all look like running, or like the call. Nor
// does it know locks: where they are waited for, and where they are let go, is what is reported.
// Traces of Go 1.22 and later are read, by golang.org/x/exp/trace; of one that is cut off, what
// comes before ([ErrBroken]).
package reqtrace
