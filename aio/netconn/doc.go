// Package netconn provides blocking connections over package aio. A [Conn] is a net.Conn over an
// aio.Conn, for crypto/tls, bufio, net/http and other code that wants one.
//
// Use it if aio drives most of your connections and other code needs a few, or needs a net.Conn
// during a handshake. [New] wraps a handle, and [NewListener] serves an http.Server. An operation
// allocates nothing. An idle Conn holds 112 bytes in addition to its handle.
//
// Operations progress only while a goroutine is in aio.Watcher.WaitIO. That is [Drive] in a
// goroutine of its own, or the program's loop, which gives each result to [Deliver]. That goroutine
// must not call Read or Write, because it would wait for itself.
//
// # Semantics
//
// They are those of *net.TCPConn. Errors are *net.OpError, except io.EOF. A missed deadline is
// os.ErrDeadlineExceeded, and use after Close is net.ErrClosed, also if the Watcher was closed. A
// new deadline applies to operations under way. Any goroutine may call the methods. A Write is sent
// in one piece.
//
// No limit of aio.Options refuses an operation, because the caller blocks. But its bytes count
// towards MaxWatcherBytes.
//
// # Caveats
//
// A Read or Write switches to the goroutine in WaitIO and back. If each of your connections has a
// blocking goroutine anyway, *net.TCPConn is faster. There is no ReadFrom or WriteTo, so io.Copy
// does not use sendfile. If aio.Watcher.Close could not get a buffer back from the kernel, do not
// use that buffer again.
package netconn
