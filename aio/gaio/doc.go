// Package gaio has the API of github.com/xtaci/gaio over package aio: a program moves over by
// changing the import. Its names, arguments, results and errors are gaio's (v1.2), and errors are
// compared with == as there. New programs use package aio, which has handles and no tables.
//
// An operation names its net.Conn. The first one delegates it: the Watcher duplicates its
// descriptor and closes the original, so that Read, Write, Close and the setters of the connection
// fail with net.ErrClosed, its addresses stay known, and options set before stay in force.
// [Watcher.Free] closes it. What cannot be delegated comes back through WaitIO, as everything does
// that is not wrong by itself.
//
// A connection that is forgotten without Free is closed by the garbage collector, which may take
// minutes, as is a Watcher that is forgotten without Close. A connection with an operation pending
// is not forgotten, nor is one in the results of the last WaitIO; neither is a Watcher that a pending
// operation's context, buffer or connection refers to.
//
// Package aio says who owns what, what is bounded, and which backend is used. [Over] is for other
// options than the defaults. An operation costs a look-up by the connection's address and two short
// locks more than aio's own, and allocates nothing either.
//
// # What differs from gaio, on purpose
//
//   - WaitIO drives. gaio has goroutines that work while nobody waits, and pays for it with two hand-offs a
//     batch: poller to loop, loop to caller. The example of WaitIO does the same in the program, where it is
//     wanted, for one.
//   - A second goroutine in WaitIO is refused with ErrWaiting. In gaio each takes the other's results
//     away.
//   - There is one swap buffer rather than three in turn, so slices of it are valid until the next
//     WaitIO and not a call longer. They have no spare capacity: an append copies.
//   - A read that finds the swap buffer full waits for the next WaitIO. In gaio it gets 16 bytes.
//   - A part of the swap buffer must be copied to be written.
//   - Close returns what is pending by WaitIO, with ErrWatcherClosed, before WaitIO itself fails
//     with it. gaio drops it.
//   - ErrDeadline is os.ErrDeadlineExceeded, and ErrPollerClosed is ErrWatcherClosed.
//   - A read into a buffer of no length, but not nil, is refused with ErrEmptyBuffer. gaio
//     returns io.EOF.
//   - A connection that is no pointer, such as a struct with a net.Conn in it, is refused with
//     ErrUnsupported. gaio panics.
//   - A second Free returns nil and does nothing. Free of a connection that was never delegated
//     closes it.
//   - Both affinity calls bind the thread of the goroutine that is in WaitIO, and lock it to that
//     thread.
//   - The call that submits the first operation delegates the connection: when it returns, conn's
//     own methods fail already. What the delegation says still comes by WaitIO.
//   - A connection has a bounded queue, of 2^20 operations. One more comes back with ErrQueueFull.
//
// gaio's own tests pass over this package, on each backend: CONTRIBUTING.md says how to run them.
//
// New here are [Over], [Watcher.Shutdown] and [Watcher.Stats].
package gaio
