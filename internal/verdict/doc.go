// Package verdict says in words why a service's slowest requests were slow: a sentence, a table
// and a text from a report of package reqtrace. The command evenkeel explain prints them.
//
//	report, err := reqtrace.Analyze(ctx, trace, reqtrace.Options{})
//	...
//	fmt.Println(verdict.Of(report).Sentence)
//
// A verdict compares the slowest 1% of the requests (p99+) with the median request, which is the
// mean from the 45th to the 55th percentile. The difference is the excess. Each cause has a share
// of it, and the shares add up to 1. A verdict names a cause only if the excess is at least 1 ms
// and the slowest requests take more than twice as long as the median.
//
// [Compare] says what made the slowest 1% slower from one version of a service to the next.
//
// Words and sentences may change between releases. A program reads Causes, whose names do not
// ([reqtrace.Cause]).
package verdict
