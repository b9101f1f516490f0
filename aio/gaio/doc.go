// Package gaio has the API of github.com/xtaci/gaio (v1.2) over package aio, so that a program
// moves over by changing the import. Errors are compared with ==, as there. New programs use
// package aio.
//
// An operation names its net.Conn. The first one delegates it: the Watcher duplicates the
// descriptor and closes the original. After that the connection's own methods fail with
// net.ErrClosed, except those for addresses. Socket options stay. [Watcher.Free] closes it. An
// error of the delegation comes by WaitIO.
//
// The garbage collector closes a forgotten connection or Watcher, which may take minutes. A
// connection with a pending operation, or in the results of the last WaitIO, is not forgotten.
//
// See package aio for ownership, limits and backends. [Over] allows other options. An operation
// costs a map look-up and two short locks more than aio's.
//
// # Differences from gaio
//
//   - WaitIO does the work. gaio has goroutines for it, with two hand-offs for each batch.
//   - A second goroutine in WaitIO gets ErrWaiting. In gaio each takes the other's results.
//   - A read that finds the one swap buffer full waits for the next WaitIO. In gaio it gets 16 bytes.
//   - After Close, WaitIO returns pending operations with ErrWatcherClosed. gaio drops them.
//   - ErrDeadline is os.ErrDeadlineExceeded, and ErrPollerClosed is ErrWatcherClosed.
//   - A read into an empty buffer that is not nil gets ErrEmptyBuffer. gaio returns io.EOF.
//   - A connection that is not a pointer gets ErrUnsupported. gaio panics.
//   - A second Free returns nil. Free closes a connection that was never delegated.
//   - Both affinity calls bind the thread of the goroutine in WaitIO.
//   - A connection has a queue of 2^20 operations. One more gets ErrQueueFull.
//
// gaio's own tests pass on each backend. [Over] is new.
package gaio
