// Package netconn provides blocking connections over package aio. A [Conn] is a net.Conn over an
// aio.Conn, for crypto/tls, bufio and other code that wants one.
//
// Use it if aio drives most of your connections and other code needs a few, or needs a net.Conn
// during a handshake. [New] wraps a handle. An operation allocates nothing. An idle Conn holds 112
// bytes in addition to its handle. For net/http use package httpd.
//
// Operations progress only while a goroutine is in aio.Watcher.WaitIO. That is [Drive] in a
// goroutine of its own, or the program's loop, which gives each result to [Deliver]. That goroutine
// must not call methods of a Conn, because it would wait for itself.
//
// The semantics are those of *net.TCPConn. Any goroutine may call the methods. Errors are
// *net.OpError, except io.EOF. A Write is sent in one piece. No limit of aio.Options refuses an
// operation, because the caller blocks, but its bytes count towards MaxWatcherBytes. If
// an error says that io_uring kept a transfer, do not use that buffer again.
//
// A Read or Write switches to the goroutine in WaitIO and back. If each of your connections has a
// blocking goroutine anyway, *net.TCPConn is faster. There is no ReadFrom or WriteTo, so io.Copy
// does not use sendfile.
package netconn
