// Package aio is a proactor: one goroutine drives tens of thousands of connections. A program
// submits a read or a write, goes on, and receives its completion. The operating system is asked
// through io_uring or epoll on Linux, and kqueue on macOS and the BSDs, behind one small
// interface.
//
// It is for servers with very many connections, most of them idle or with short messages, where a
// goroutine, its stack and its buffers for each would cost too much. It works with the ordinary
// net.Listener and net.Conn, and takes a connection over when the program submits the first
// operation on it, after a handshake for instance.
//
// # How it works
//
// [Watcher.Read], [Watcher.Write] and their kin queue an operation and return. [Watcher.WaitIO]
// begins what is queued, moves bytes, and returns operations that are over. There is no goroutine
// inside: the one that calls WaitIO does the work, and the results need no hand-off. So operations
// progress only while a goroutine is in WaitIO, and one that does long work between two calls
// delays all connections of that Watcher. Several Watchers, each with its goroutine, use several
// processors.
//
// Every method may be called by any goroutine, but WaitIO by one at a time: what it returned is
// taken back by the next call, so the second of two at once is refused with [ErrWaiting]. With
// nothing to do WaitIO waits in the runtime's own network poller, as a blocked net.Conn does, and
// holds neither a thread nor a P (on macOS and the BSDs it blocks a thread). Under load it lets
// other goroutines run every millisecond.
//
// The operations of a connection in one direction are carried out, and returned, in the order of
// their submission; reads and writes are independent of each other. A write is over when all of it
// was sent. Nothing is read unless a read is submitted, so not submitting one is how a peer that
// sends too fast is slowed down.
//
// # Who owns what
//
// A buffer is the watcher's from the submission until WaitIO has returned the operation; meanwhile
// it must be neither read nor changed. Several writes may share one buffer.
//
// A read with a nil buffer uses the watcher's swap buffer, so that idle connections hold no memory
// for it. Such a slice is valid until the next WaitIO, by any goroutine. To write it, copy it
// first: the write goes on after the next WaitIO has begun to use the memory anew.
//
// The slice that WaitIO returns is valid until the next WaitIO too, and keeps its connections from
// being collected until then.
//
// A connection is the program's until its first operation, which delegates it: the watcher
// duplicates its descriptor and closes the original, so Read, Write, Close and the setters of conn
// fail with net.ErrClosed, its addresses stay known, and options set before stay in force. Only a
// linger time above zero ends with the connection: no close waits, and the kernel sends the rest.
// [Watcher.Free] closes it. A connection that is forgotten without Free is closed by the garbage
// collector, as is a Watcher that is forgotten without Close. A connection with an operation
// pending is not forgotten; neither is a Watcher that a pending operation's tag, buffer or
// connection refers to.
//
// # What is bounded
//
// A connection has at most Options.MaxQueued operations that WaitIO has not returned; one more is
// refused with [ErrQueueFull]. The swap buffer has Options.SwapSize bytes; reads that find it full
// get 16 bytes each, in memory of their own, until the next WaitIO, and Stats.SwapFull counts
// them: when it grows, SwapSize is too small. Connections are bounded by the process's limit of
// descriptors: the delegation needs one more for a moment, and without it the operation is
// returned with syscall.EMFILE while the connection stays the program's.
//
// # Programs for gaio
//
// A program for github.com/xtaci/gaio moves over by changing its import and the package's name.
// Errors are compared with ==. What differs, on purpose:
//
//   - WaitIO drives. gaio has goroutines that work while nobody waits.
//   - A second goroutine in WaitIO is refused with ErrWaiting. In gaio each takes the other's results
//     away.
//   - There is one swap buffer rather than three in turn, so slices of it are valid until the next
//     WaitIO and not a call longer. They have no spare capacity: an append copies.
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
//     thread. After Close they fail with ErrWatcherClosed.
//   - The call that submits the first operation delegates the connection: when it returns, conn's
//     own methods fail already. What the delegation says still comes by WaitIO.
//   - A connection has a bounded queue: ErrQueueFull.
//
// New here are [New] with [Options], [Watcher.Attach], [Watcher.Shutdown] and [Watcher.Stats].
//
// # When not to use it
//
// With some hundred connections, goroutines that block are simpler and as fast. A tls.Conn has no
// descriptor of its own and is refused with ErrUnsupported: end TLS in front, for now. Windows has
// no backend.
//
// io_uring can be absent or forbidden, as it is in many containers. Auto then uses epoll and says
// so in the log, once in a process; Stats.Backend has the one in use.
package aio
