// Package gctrace reports what the garbage collector cost a Go program.
//
// Start the program with GODEBUG=gctrace=1. [Scanner] reads the lines that it writes to standard
// error. [Summarize] adds up their cycles to a [Summary].
//
// # Torn lines
//
// The runtime prints a gctrace line with about forty writes. Other output can stand between them:
//
//	gc 6 @2026/11/21 10:00:00 GET /search
//	0.044s 13%: 0.071+3.1+0.009 ms clock, ...
//
// A Scanner joins the pieces. It counts a cycle as lost in [Stats] if it cannot tell the cycle's
// digits from others. Digits without newlines, such as progress output, can still be misread. To be
// certain, log to another file than standard error.
//
// # Caveats
//
// Go does not promise the format. The package reads that of Go 1.21 to 1.26, and the older one
// without stacks and globals. The lines do not have the time spent sweeping.
package gctrace
