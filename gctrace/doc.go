// Package gctrace reports what the garbage collector cost a Go program, as a [Summary].
//
// For a program that you start, set GODEBUG=gctrace=1. [Scanner] reads the lines that it writes to
// standard error, and [Summarize] adds up the cycles of a [Window]. For your own program, [Take] a
// [Snapshot] before and after, and [Snapshot.Since] has the difference.
//
// A figure that a source does not have is absent ([Value]), never 0.
//
// # Torn lines
//
// The runtime prints a gctrace line with about forty writes. Other output can stand between them:
//
//	gc 6 @2026/11/21 10:00:00 GET /search
//	0.044s 13%: 0.071+3.1+0.009 ms clock, ...
//
// A Scanner joins the pieces. It counts a cycle as lost in [Stats] if foreign digits directly
// follow a number and it cannot tell them apart. Digits without newlines, such as progress output,
// can still be misread. To be certain, log to another file than standard error.
//
// # Caveats
//
// Go does not promise the format. The package reads that of Go 1.21 to 1.26, and the older one
// without stacks and globals. CPU times are what the scheduler counted for the Ps. Neither source
// has the time spent sweeping.
package gctrace
