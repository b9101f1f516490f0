// Package aio is a proactor: one goroutine drives tens of thousands of connections. A program
// submits a read or a write, goes on, and receives its completion. The operating system is asked
// through io_uring or epoll on Linux, and kqueue on macOS and the BSDs, behind one small
// interface.
//
// It is for servers with very many connections, most of them idle or with short messages, where a
// goroutine, its stack and its buffers for each would cost too much. It accepts connections itself, and
// takes over those of package net when the program attaches them, after a handshake for instance.
//
// # How it works
//
// [Watcher.Listen] makes a [Listener], whose [Listener.Accept] is an operation too: its result has
// the new [Conn]; so is [Watcher.Dial]. [Listener.AcceptMultishot] goes on after each connection.
// [Watcher.Attach] makes a Conn of a net.Conn. [Conn.Read], [Conn.ReadFull], [Conn.Write] and
// [Conn.Writev] queue an operation and return. [Watcher.WaitIO] begins what is queued, moves bytes,
// and returns operations that are over, each with the tag that it was submitted with. There is no
// goroutine inside: the one that calls WaitIO does the work, and the results need no hand-off. So
// operations progress only while a goroutine is in WaitIO, and one that does long work between two
// calls delays all connections of that Watcher. Several Watchers, each with its goroutine, use
// several processors: [Listen] has them share an address, and [Watcher.Post] hands one of them
// something else to do. [Conn.TryWrite] and [Conn.TryWritev] are no operations: the caller sends
// what there is room for, at once.
//
// Every method may be called by any goroutine, but WaitIO by one at a time: what it returned is
// taken back by the next call, so the second of two at once is refused with [ErrWaiting]. With
// nothing to do WaitIO waits in the runtime's own network poller, as a blocked net.Conn does, and
// holds neither a thread nor a P (on macOS and the BSDs it blocks a thread). Under load it lets
// other goroutines run every millisecond, for about as long.
//
// The operations of a connection in one direction are carried out, and returned, in the order of
// their submission, but for those that end at their deadline or are refused; reads and writes are
// independent of each other. A write is over when all of it was sent. Nothing is read unless a read
// is submitted, so not submitting one is how a peer that sends too fast is slowed down.
//
// Every operation has one Result, also one that is refused, because its connection is closed or its
// queue full. So Result.Error says what has become of it, and a program need not look at what Read
// or Write returns. That is an error only when the Watcher is closed, which WaitIO says too: see
// [Conn.Read].
//
// # Who owns what
//
// A buffer is the watcher's from the submission until WaitIO has returned the operation; meanwhile
// it must be neither read nor changed. Several writes may share one buffer. The slice that a Writev gets is
// the caller's again at once: only the buffers in it are the watcher's.
//
// A read with a nil buffer uses the watcher's swap buffer, so that idle connections hold no memory
// for it. Such a slice is valid until the next WaitIO, by any goroutine, and has no spare capacity:
// an append copies. To write it, copy it first: the write goes on after the next WaitIO has begun to
// use the memory anew. The slice that WaitIO returns is valid until the next WaitIO too.
//
// A connection is the watcher's from Attach or Accept to [Conn.Close]; of one that was attached the
// descriptor was duplicated, and the net.Conn closed. A Conn that the program forgets stays open until the
// Watcher is closed, and a Watcher that it forgets stays open, with its descriptors. So does a Listener.
//
// One operation is ended early, or given another deadline, by the tag that it was submitted with: see
// [Conn.Cancel], [Listener.Cancel] and [Conn.SetDeadline].
//
// Options of a socket are set by [Conn.SetNoDelay], [Conn.SetKeepAliveConfig] and [Conn.SetLinger],
// others by [Conn.SyscallConn], and those of all that a Listener accepts by ListenOptions.Control.
// [Conn.Detach] gives a connection back as a net.Conn, for what is to block: after an upgrade, for
// instance.
//
// # How a connection ends
//
// [Conn.Close] closes at once: what was submitted before is tried once, and returned. [Conn.CloseAfterWrites]
// closes when the writes before it are over, or at a deadline, and [Conn.CloseWrite] ends this side's
// sending alone: both are operations, behind the writes. [Watcher.Shutdown] does the first for all, and
// [Watcher.Close] closes all at once.
//
// # What is bounded
//
// A connection has at most Options.MaxQueued operations that WaitIO has not returned; one more is
// refused with [ErrQueueFull], and so is a write beyond Options.MaxQueuedBytes of its connection,
// or MaxWatcherBytes of all, unless nothing is queued on that one, or on any, however large it is;
// package aio/netconn's never are, whose callers wait. The swap buffer has Options.SwapSize bytes;
// reads that find it full wait for the next WaitIO, and Stats.SwapFull counts that: when it grows,
// SwapSize is too small. Connections are bounded by Options.MaxConns ([ErrTooManyConns] of Attach,
// and in the Result of a Dial) and by the process's limit of descriptors: beyond these they wait in
// the kernel's queue to be accepted, and Stats.AcceptStalls counts that.
//
// # What a turn does
//
// WaitIO works in turns, each with budgets, so that a busy connection delays the others by its share
// and no more. A turn
//
//   - takes in 4,096 submissions, 4 of a connection and then those of the next, round after round;
//   - begins 256 transfers or 1 MiB, whichever comes first. A connection with something new begins
//     1 transfer of each direction; one that has had that and has more to do 4, or 64 KiB; a
//     Listener 64 accepts. Then it is another's turn, and the two kinds of connections have half of
//     the transfers each: a small write waits for no line of queued ones, and beside N that come
//     with it for some 2 N transfers. A transfer has 64 KiB at the utmost: a longer write or
//     ReadFull takes several, and a Read with a larger buffer returns that much. A read without a
//     buffer is bounded by the swap buffer alone;
//   - asks the kernel what has become possible, if the turn before did not: 128 events, or
//     [Options].MaxEvents, or 1 MiB. What is left over is the next turn's. On io_uring all
//     transfers of a turn are one call, or one for each 128;
//   - ends 256 operations at their deadline. An operation whose turn to be tried has not come is tried
//     first.
//
// WaitIO returns after the turn in which something was over. Deadlines go by the monotonic clock, those
// too that have no reading of it, such as time.Unix's: these are as far away as the wall clock says when
// they are submitted.
//
// # Programs for gaio
//
// Package aio/gaio has the API of github.com/xtaci/gaio over this one: names, errors, operations by
// net.Conn, and connections that the garbage collector closes. Package aio/aiotest is for tests.
//
// # When not to use it
//
// With some hundred connections, goroutines that block are simpler and as fast. Package aio/netconn has
// connections that block, for crypto/tls and other code that wants a net.Conn; a tls.Conn has no descriptor of its
// own and is refused with [ErrNoDescriptor]: attach what is below it. UDP is refused with [ErrDatagram]. Windows
// has no backend.
//
// io_uring can be absent or forbidden, as it is in many containers. BackendAuto then uses epoll and
// says so in the log, once in a process; Stats.Backend has the one in use.
package aio
