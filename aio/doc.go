// Package aio is a proactor: one goroutine drives tens of thousands of connections. A program
// submits a read or a write, goes on, and receives the completion later. The kernel interface is
// io_uring or epoll on Linux, and kqueue on macOS and the BSDs.
//
// Use it for very many connections that are mostly idle or carry short messages. With some hundred,
// blocking goroutines are simpler and as fast.
//
// # Operations
//
// [Watcher.Listen] makes a [Listener]. [Listener.Accept], [Listener.AcceptMultishot],
// [Watcher.Dial] and [Watcher.Attach] make a [Conn]. [Conn.Read], [Conn.ReadFull], [Conn.Write] and
// [Conn.Writev] queue an operation and return. [Watcher.WaitIO] moves bytes and returns the
// operations that are over, each with its tag. Operations progress only while a goroutine is there,
// so long work between two calls delays every connection.
//
// Several Watchers, each with its goroutine, use several processors. [Conn.Spread] gives each its
// share of the connections. [Watcher.Post] wakes one of them with a message. [Conn.TryWrite] and
// [Conn.TryWritev] are not operations: the calling goroutine sends what there is room for.
//
// Any goroutine may call any method, but only one at a time is in WaitIO. The second gets
// [ErrWaiting]. An idle WaitIO holds no thread, except on macOS and the BSDs. Under load it lets
// other goroutines run every millisecond.
//
// The operations of a connection in one direction are carried out and returned in the order of
// their submission, except those that are refused or end at their deadline. A write is over when
// all of it is sent. Nothing is read unless a read is submitted, so a program slows down a fast
// sender by not submitting one.
//
// Every operation has one Result, even one that is refused. So check Result.Error.
//
// # Ownership
//
// The watcher owns a buffer from the submission until WaitIO returns the operation. Do not read or
// change it during that time. Several writes may share one buffer.
//
// A read with a nil buffer uses the watcher's swap buffer, so an idle connection holds no memory
// for it. The swap buffer and the slice that WaitIO returns are valid until the next WaitIO, by any
// goroutine. Copy a part of the swap buffer before you write it.
//
// The watcher owns a connection until [Conn.Close], even if the program forgets it. [Conn.Detach]
// gives it back as a net.Conn.
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
// [Options] bounds operations, bytes and connections. What is beyond a limit is refused with
// [ErrQueueFull] or [ErrTooManyConns]. Clients wait in the kernel's accept queue, and
// Stats.AcceptStalls counts that. If Stats.SwapFull grows, raise Options.SwapSize.
//
// UDP is refused with [ErrDatagram]. A tls.Conn has no descriptor and is refused with
// [ErrNoDescriptor]: attach the connection below it, or use aio/netconn. Windows has no backend. If
// io_uring is missing or forbidden, as in many containers, BackendAuto uses epoll and logs that
// once.
//
// # Fairness
//
// WaitIO works in turns. Each part of a turn, and each connection, has a budget of transfers and
// bytes, so that a busy connection delays the others by its share only. A transfer has at most
// 64 KiB. WaitIO returns after a turn in which an operation was over.
package aio
