// Package httpd serves an *http.Server over package aio. net/http's own code reads the requests and
// runs the handlers, but an idle connection has neither a goroutine nor a buffer.
//
//	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second} // unchanged
//	log.Fatal(httpd.ListenAndServe(ctx, srv, httpd.Options{Addr: ":8080"}))
//
// Use it for servers with very many connections that are mostly idle, such as long polls, devices
// and gateways. To go back, write srv.ListenAndServe().
//
// # How it works
//
// net/http serves a few connections that exist in memory only: the workers. aio has the real
// connections. When net/http has answered a request and asks for the next, the worker lets its
// connection go and takes another one that has bytes. A handler may block for as long as it likes.
// There are as many workers as running handlers, and a few more. So net/http decides what a request
// means, what is refused, and what an answer looks like.
//
// # What works as in net/http
//
// Shutdown, Close, RegisterOnShutdown, SetKeepAlivesEnabled, timeouts, ConnState, ConnContext and
// BaseContext work for real connections. So do RemoteAddr, the cancellation of a request's context
// when the client leaves, Hijack, Flusher, http.ResponseController, pipelining and 100-continue.
//
// # What it relies on
//
// Workers rely on how net/http reads a connection: 4,096 bytes at a time, with deadlines set in a
// known order. The first Serve of a process tests that on connections in memory. If net/http does
// something else, it serves as it does without httpd, and Options.Logger gets a Warn.
//
// # The http.Server's fields
//
// Serve replaces the server's Handler, ConnState, ConnContext and BaseContext. When the last Serve
// has returned and no handler runs any more, they are the user's again. Do not change them before.
// After HTTP/2, or when net/http's own Serve of the same server begins later, the replacements
// stay, because net/http may still read the fields. They pass on what is not httpd's.
//
// Call httpd's Serve before net/http's Serve of the same server. The other order is a data race,
// because net/http reads the fields while httpd writes them. httpd cannot see a Serve of net/http
// that has no connections. It logs a warning at the first connection of such a Serve.
//
// # What differs
//
//   - HTTP/2 connections have net/http's goroutines.
//   - A TLS connection ([ServeTLS]) keeps crypto/tls's state, some kilobytes.
//   - A connection without a descriptor, such as tls.NewListener's, or of a type of yours, has a goroutine.
//   - ConnState and ConnContext get a net.Conn of this package, with the addresses, Close and
//     SyscallConn. So does a tls.ClientHelloInfo. ConnContext is called for the first request or the
//     handshake, and ConnState(StateNew) in a goroutine of its own.
//   - Hijack gives a connection of this package if the request has a body or descriptors are missing.
//   - A queued Write counts as written, so a handler may notice one Write later that a client left.
//   - After its handler returned, an http.ResponseController of a request with a body sets the deadlines
//     of the request that its worker has by then.
//   - sendfile(2) is used for files from 32 KiB, on Linux and TCP only.
//   - aio accepts from a duplicate of a *net.TCPListener or *net.UnixListener. If you close the listener,
//     Serve ends within a second. The listener's SetDeadline does nothing.
//   - Shutdown closes connections without a request at once. net/http waits five seconds for them.
//   - SetKeepAlivesEnabled(false) may close a connection that has sent part of its first request.
//   - A timeout of a parked connection comes up to 100 ms late.
//   - If a TLS connection ends after at most three bytes, the answer depends on the worker.
//
// net/http's own tests pass through this package on each backend, except those in
// tools/nethttp/known.txt, which gives the reasons. Command tools/nethttp runs them.
//
// # WebSockets
//
// A hijacked connection usually needs a goroutine and buffers while it waits. With [Parkable] and
// [Conn.Park] it needs neither until bytes arrive. See examples/websockets.
//
// # Limits
//
// See [Options] for the limits of unread bytes, queued answers, memory and connections. If the
// memory is used up, a Write waits until the kernel has its bytes, and 4 KiB of a connection are
// read at a time. If MaxConns or the process's limit of descriptors is reached, clients wait in the
// kernel's accept queue.
//
// A connection has a worker from the first bytes of a request on. If 64 workers wait for the rest
// of a header, further connections wait in the loop with up to 4 KiB each. So thousands of slow
// clients cost little. net/http then sees such a request when its header is complete, and one that
// is late gets no answer. With TLS, pipelined requests, or headers from 4 KiB on, a slow client has
// a worker. Set the http.Server's ReadHeaderTimeout and IdleTimeout. Without them a client may take
// for ever.
//
// [StatsOf] returns counters, including what was refused and why.
package httpd
