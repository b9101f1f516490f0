// Package gctrace tells what the garbage collector cost a Go program.
//
// It has two sources, and one [Summary] for both:
//
//   - The lines that a program writes to standard error under GODEBUG=gctrace=1.
//     [Scanner] reads them out of a log or a live pipe, [Parse] reads a single one, and
//     [Summarize] adds up the cycles of a [Window]. No change to the program is needed.
//   - The program's own counters in runtime/metrics: [Take] a [Snapshot] before and after,
//     and [Snapshot.Since] says what lay between.
//
// Use the lines for a program that you start, and the snapshots for one that you write. The
// lines have each collection, every phase and the heap around it; the snapshots have exact
// allocation and cost nothing in between. A figure that a source does not have is absent
// ([Value]), never 0.
//
// # Torn lines
//
// The runtime prints a gctrace line with about forty write calls. What the program writes to
// standard error meanwhile stands in the middle of it:
//
//	gc 6 @2026/11/21 10:00:00 GET /search
//	0.044s 13%: 0.071+3.1+0.009 ms clock, ...
//
// A Scanner puts such lines together again, over any number of foreign lines up to a bound.
// Where a number runs into text that begins with digits it goes by what other lines of the
// log, and dates, look like; where that does not tell, the cycle is lost rather than wrong,
// and [Stats] counts it. A number that no rule can tell from others (progress dots and
// digits without newlines) may still be misread: to be certain, give the program's logger
// another file than standard error.
//
// # Caveats
//
// The lines' format is not promised to stay. The format read here is that of runtime/mgc.go,
// gcMarkTermination, in Go 1.21 to 1.26 (testdata has a log of each), and the older one without
// stacks and globals; its figures are rounded down, see [Cycle]. CPU times are what the scheduler
// counted for the Ps and not what the operating system did, in both sources. Time spent sweeping is
// in neither.
package gctrace
