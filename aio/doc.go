// Package aio is a proactor: one goroutine drives tens of thousands of connections. A program
// submits a read or a write, goes on, and receives the completion later. The kernel interface is
// io_uring or epoll on Linux, and kqueue on macOS and the BSDs.
//
// Use it for servers with very many connections that are mostly idle or carry short messages. A
// goroutine per connection, with its stack and buffers, would cost too much there. With some
// hundred connections, blocking goroutines are simpler and as fast.
//
// # Operations
//
// [Watcher.Listen] makes a [Listener]. [Listener.Accept], [Listener.AcceptMultishot],
// [Watcher.Dial] and [Watcher.Attach] make a [Conn]. [Conn.Read], [Conn.ReadFull], [Conn.Write] and
// [Conn.Writev] queue an operation and return. [Watcher.WaitIO] moves bytes and returns the
// operations that are over, each with its tag. The goroutine in WaitIO does all the work, so
// operations progress only while one is there. Long work between two calls delays every connection
// of that Watcher.
//
// Several Watchers, each with its goroutine, use several processors. [Listen] makes them share an
// address. [Watcher.Post] wakes one of them with a message. [Conn.TryWrite] and [Conn.TryWritev]
// are not operations: the calling goroutine sends what there is room for.
//
// Any goroutine may call any method, but only one at a time is in WaitIO. The second gets
// [ErrWaiting]. An idle WaitIO waits in the runtime's network poller and holds no thread. On macOS
// and the BSDs it blocks a thread. Under load it lets other goroutines run every millisecond.
//
// The operations of a connection in one direction are carried out and returned in the order of
// their submission, except those that are refused or end at their deadline. Reads and writes are
// independent of each other. A write is over when all of it is sent. Nothing is read unless a read
// is submitted. A program slows down a fast sender by not submitting one.
//
// Every operation has one Result, even one that is refused. So check Result.Error. Read and Write
// themselves fail only if the Watcher is closed.
//
// # Ownership
//
// The watcher owns a buffer from the submission until WaitIO returns the operation. Do not read or
// change it during that time. Several writes may share one buffer. The slice of buffers given to
// Writev is yours again at once.
//
// A read with a nil buffer uses the watcher's swap buffer, so an idle connection holds no memory
// for it. The swap buffer and the slice that WaitIO returns are valid until the next WaitIO, by any
// goroutine. Copy a part of the swap buffer before you write it.
//
// The watcher owns a connection until [Conn.Close]. A Conn or a Listener that the program forgets
// stays open until the Watcher is closed. [Conn.Detach] gives a connection back as a net.Conn.
//
// [Conn.Cancel], [Listener.Cancel] and [Conn.SetDeadline] find an operation by its tag.
//
// # Closing
//
// [Conn.Close] tries once what was submitted before, and closes. [Conn.CloseAfterWrites] closes
// behind the writes, or at a deadline. [Conn.CloseWrite] ends only the sending side.
// [Watcher.Shutdown] lets the writes of all connections finish. [Watcher.Close] closes everything
// at once.
//
// # Limits
//
// A connection has at most Options.MaxQueued operations that WaitIO has not returned. One more is
// refused with [ErrQueueFull]. So is a write beyond Options.MaxQueuedBytes of its connection, or
// MaxWatcherBytes of all. A write is never refused if nothing else is queued. Calls of aio/netconn
// are not limited, because they block. Options.MaxConns and the limit of descriptors bound the
// connections. Beyond them, clients wait in the kernel's accept queue, and Stats.AcceptStalls
// counts that. Reads that find the swap buffer full wait for the next WaitIO, and Stats.SwapFull
// counts that. If it grows, raise Options.SwapSize.
//
// UDP is refused with [ErrDatagram]. A tls.Conn has no descriptor and is refused with
// [ErrNoDescriptor]: attach the connection below it, or use aio/netconn. Windows has no backend. If
// io_uring is missing or forbidden, as in many containers, BackendAuto uses epoll and logs that
// once.
//
// # Fairness
//
// WaitIO works in turns with budgets, so that a busy connection delays the others by its share
// only. A turn
//
//   - takes in 4,096 submissions, 4 of a connection and then those of the next;
//   - begins 256 transfers or 1 MiB, whichever comes first. A connection with something new begins
//     1 transfer of each direction. One that has had that begins 4, or 64 KiB. A Listener begins 64
//     accepts. The two kinds of connections share the transfers equally. A transfer has at most
//     64 KiB;
//   - asks the kernel for events, if the turn before did not: 128 of them, [Options].MaxEvents, or
//     1 MiB. On io_uring all transfers of a turn are one system call, or one for each 128;
//   - ends 256 operations at their deadline, after one more try.
//
// WaitIO returns after a turn in which an operation was over. Deadlines use the monotonic clock.
//
// Package aio/gaio has the API of github.com/xtaci/gaio over this one. Package aio/aiotest is for
// tests.
package aio
