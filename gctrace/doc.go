// Package gctrace reports what the garbage collector cost a Go program.
//
// Both of its sources give a [Summary]:
//
// - A program under GODEBUG=gctrace=1 writes lines to standard error. [Scanner] reads them from a
// log or a live pipe, and [Summarize] adds up the cycles of a [Window]. The program needs no
// change. The lines have each collection, every phase and the heap sizes.
// - [Take] makes a [Snapshot] of the program's own runtime/metrics, and [Snapshot.Since] gives the
// difference of two. It has exact allocation.
//
// A figure that a source does not have is absent ([Value]), never 0.
//
// # Torn lines
//
// The runtime prints a gctrace line with about forty writes, and other output can stand between
// them:
//
//	gc 6 @2026/11/21 10:00:00 GET /search
//	0.044s 13%: 0.071+3.1+0.009 ms clock, ...
//
// A Scanner joins the pieces. If foreign digits follow a number directly, it decides by dates and
// by other lines of the log. If that does not decide, it counts the cycle as lost in [Stats].
// Progress dots or digits without newlines can still be misread. To be certain, log to another file
// than standard error.
//
// # Caveats
//
// The format of the lines is not a promise of Go. The package reads that of Go 1.21 to 1.26, and
// the older one without stacks and globals. CPU times are what the scheduler counted for the Ps,
// not what the operating system measured. Neither source has the time spent sweeping.
package gctrace
