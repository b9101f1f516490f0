// Package verdict says in words why a service's slowest requests were slow: a sentence, a table and
// a text, out of a report of package reqtrace. The command evenkeel explain, its pages and
// `evenkeel run -explain` say what this package says, so a test or a service of your own can say it too.
//
//	report, err := reqtrace.Analyze(ctx, trace, reqtrace.Options{})
//	...
//	fmt.Println(verdict.Of(report).Sentence)
//
// The slowest 1% of the requests (the band p99+) are compared with the median request (the mean of
// those from the 45th to the 55th percentile), cause by cause. What they take more is the excess; each
// cause's part of it is its share. The shares of the causes that take more add up to 1.
//
// A verdict names a cause only where the excess is at least 1 ms and the slowest requests take more than
// twice as long as the median; otherwise Named is false and the sentence ends in "no cause to name".
// Caveats say what makes a report less than it seems, and [Limits] what no trace can show.
//
// [Compare] says what has changed: the causes that made the slowest 1% slower from one version of a
// service to the next, out of several reports of each.
//
// Words and sentences are for people and may change between releases. A program looks at Causes, whose
// names do not ([reqtrace.Cause]).
package verdict
