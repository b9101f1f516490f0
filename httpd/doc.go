// Package httpd serves an *http.Server over package aio. net/http's own code reads the requests and
// runs the handlers, but an idle connection has neither a goroutine nor a buffer.
//
//	srv := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 5 * time.Second} // unchanged
//	log.Fatal(httpd.ListenAndServe(ctx, srv, httpd.Options{}))
//
// Use it for servers with very many connections that are mostly idle, such as long polls, devices
// and gateways. To go back, write srv.ListenAndServe().
//
// # How it works
//
// net/http serves a few connections in memory, the workers. aio has the real connections. When
// net/http asks for the next request, the worker lets its connection go and takes another one that
// has bytes. A handler may block for as long as it likes, because there are always a few more
// workers than running handlers. So net/http decides what a request means and what an answer is.
//
// One loop has all connections while the load is low. A busy loop gives connections to others, up to
// [Options.Loops], so that all cores serve. A connection has one loop at a time.
//
// # What works as in net/http
//
// Shutdown, Close, RegisterOnShutdown, SetKeepAlivesEnabled, timeouts, ConnState, ConnContext and
// BaseContext work for real connections. So do RemoteAddr, the cancellation of a request's context
// when the client leaves, Hijack, Flusher, http.ResponseController, pipelining and 100-continue.
//
// After Serve returned, as with net/http, goroutines of connections may still be ending, and
// ConnState may still hear of the last StateClosed.
//
// # What it relies on
//
// Workers rely on how net/http reads a connection: 4,096 bytes at a time, with deadlines set in a
// known order. The first Serve of a process tests that in memory. If net/http does something else,
// it serves without httpd, and Options.Logger gets a Warn.
//
// # The http.Server's fields
//
// Serve replaces the server's Handler, ConnState, ConnContext and BaseContext. Do not change them
// after that. The replacements stay, and pass on what is not httpd's. So net/http may serve later.
//
// Call httpd's Serve before net/http's Serve of the same server. The other order is a data race.
//
// # What differs
//
//   - HTTP/2 connections have net/http's goroutines.
//   - A TLS connection ([ServeTLS]) keeps crypto/tls's state, some kilobytes.
//   - If the listener is not a *net.TCPListener or a *net.UnixListener, net/http serves it.
//   - ConnState, ConnContext and tls.ClientHelloInfo get a net.Conn of this package, with the
//     addresses, Close and SyscallConn. The function given to SyscallConn's Control must not use
//     a connection of this package. ConnContext is called for the first request or the handshake,
//     and ConnState(StateNew) in a goroutine of its own.
//   - Hijack gives a connection of this package if the request has a body or descriptors are missing.
//   - A queued Write counts as written, so a handler may notice one Write later that a client left.
//   - After its handler returned, an http.ResponseController of a request with a body sets the
//     deadlines of the request that its worker has by then.
//   - sendfile(2) is used for files from 32 KiB, on Linux and TCP only.
//   - aio accepts from a duplicate of a *net.TCPListener or *net.UnixListener. If you close the
//     listener, Serve ends within a second. The listener's SetDeadline does nothing.
//   - Shutdown closes connections without a request at once. net/http waits five seconds for them.
//   - SetKeepAlivesEnabled(false) may close a connection that has sent part of its first request.
//   - A timeout of a parked connection comes up to 100 ms late.
//   - A connection that stops or ends after at most three bytes may be closed without a 400.
//
// net/http's own tests pass through this package on each backend, except those in
// tools/nethttp/known.txt, which gives the reasons.
//
// # WebSockets
//
// With [Parkable] and [Conn.Park] a hijacked connection has neither a goroutine nor a buffer until
// bytes arrive. See examples/websockets.
//
// # Limits
//
// [Options] limits unread bytes, queued answers, memory and connections. If the memory is used up, a
// Write waits until the kernel has its bytes, and 4 KiB of a connection are read at a time. Beyond
// MaxConns or the process's descriptors, clients wait in the kernel's accept queue.
//
// If 64 workers wait for the rest of a header, or their share of a loop, further connections wait
// without one, with up to 4 KiB each. So thousands of slow clients cost little. net/http sees such a
// request when its header is complete, and a late one gets no answer. With TLS, pipelined requests,
// or headers from 4 KiB on, a slow client has a worker. Set the http.Server's ReadHeaderTimeout and
// IdleTimeout, because without them a client may take for ever.
//
// [StatsOf] returns counters, including what was refused and why.
package httpd
