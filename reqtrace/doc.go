// Package reqtrace says why the slowest requests of a Go service were slow. It reads an execution
// trace (runtime/trace), finds the requests in it, and says where the time of each went.
//
// [Read] hands out the requests of a trace, each with its [Parts]. [Analyze] groups them by
// percentiles. The command evenkeel explain prints what Analyze finds.
//
// # Requests
//
// The package finds requests of net/http (HTTP/1 and HTTP/2), golang.org/x/net's HTTP/2, gRPC and
// net/rpc without marks. Options.Requests names other functions that wait for work. A
// [NoRequestsError] lists candidates. If package reqtrace/region or Options.Region marks requests,
// only these count, and those of Options.Requests.
//
// A request begins when its goroutine is woken. It ends at the first wait after its region or its
// answer. So it includes the wait for a processor, which a handler's own timer does not see.
//
// # Causes
//
// Each nanosecond has one [Cause]. The package follows a wait for a lock or a channel to the
// goroutine that ended it, and on to those that this one waited for. What the scheduler and the
// collector did to these counts as such. The rest of a lock's wait is [CauseLock]. Waiting for a
// goroutine that works for the request counts as what that one did. Waiting until it begins is
// [CauseChannel].
//
// A [Blame] names the place in the program's code, and the holder of what was waited for. The
// program is all code outside the standard library, the module cache and vendor.
//
// # Limits
//
// docs/explain.md says what a trace cannot show. The package reads traces of Go 1.22 and later, and
// the whole part of a trace that is cut off ([ErrBroken]).
package reqtrace
