// Package httpd serves any *http.Server over package aio: net/http's own code reads the requests and runs
// the handlers, and an idle connection has neither a goroutine nor a buffer.
//
//	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second} // as it is
//	log.Fatal(httpd.ListenAndServe(ctx, srv, httpd.Options{Addr: ":8080"}))
//
// It is for servers with very many connections of which most are idle: long polls, devices, gateways. The
// way back is one line: srv.ListenAndServe().
//
// # How it works
//
// The http.Server serves a few connections that exist in memory only, each with net/http's goroutine: the
// workers. Real connections are aio's. When net/http has answered a request and reads the
// next one, the worker lets its connection go and is given another one that has bytes. A handler may block
// as long as it likes: there are as many workers as handlers that run, and some spare ones.
// So what a request means, what is refused and how, and what an answer looks like is net/http's by construction.
//
// # What is as in net/http
//
// Shutdown, Close, RegisterOnShutdown and SetKeepAlivesEnabled of the http.Server; its timeouts, those of idle
// connections too; ConnState, ConnContext and BaseContext, called for real connections; RemoteAddr and
// the context of a request, which ends when the client leaves; Hijack, which gives a *net.TCPConn, *net.UnixConn or
// *tls.Conn with what was read too far; Flusher, http.ResponseController, pipelining, 100-continue.
//
// # What it relies on
//
// Workers rely on how net/http reads a connection: by 4,096 bytes, and in which order it sets
// deadlines. A release of Go may change that. The first Serve of a process tries it, on connections
// in memory, in some milliseconds. If net/http does something else, it serves by itself, as it does
// without httpd, and Options.Logger gets a Warn that says so.
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
// # What is not
//
//   - Nothing is saved for HTTP/2, which net/http serves with its goroutines, over TLS and without.
//   - A connection of TLS ([ServeTLS]) keeps what crypto/tls keeps for it, some kilobytes.
//   - One without a descriptor, such as of tls.NewListener, has its goroutine as ever, and so has one of a type of the
//     user's, which may have a Read of its own.
//   - What ConnState and ConnContext give is a net.Conn of this package and no *net.TCPConn or *tls.Conn: it has the
//     addresses, Close, and SyscallConn for the socket's options; so has that of a tls.ClientHelloInfo. ConnContext is called when the first
//     request is there, or for the handshake, and ConnState(StateNew) in a goroutine of its own.
//   - Of this package is also what Hijack gives of a request with a body, and for want of descriptors.
//   - What of an answer is queued, for want of room or to be sent with others, counts as written: a handler may hear one
//     Write later of a client that has gone.
//   - An http.ResponseController whose handler has returned, where its request had a body, sets the deadlines of whatever request its worker has by
//     then; where it had none, of its own connection alone, as with net/http.
//   - Files below 32 KiB go through memory, larger ones through sendfile(2) on Linux and TCP only.
//   - A *net.TCPListener or *net.UnixListener is accepted from in aio's loop, by a duplicate of its descriptor: its own
//     Close ends Serve within a second and not at once, and idle connections with it; its SetDeadline does nothing, and
//     keep-alive probes are as those of net.Listen.
//   - Shutdown closes connections that have not asked for anything at once: net/http waits for them for five seconds,
//     and answers nothing either.
//   - SetKeepAlivesEnabled(false) closes those too of whose first request a part has come, where a worker reads it that has served
//     others.
//   - The end of a parked connection's time comes up to a tenth of a second late.
//   - Three bytes at most and the end are answered over TLS as the worker has served before or not.
//
// net/http's own tests pass through this package, on each backend, but for three; tools/nethttp/known.txt has these, with the reasons.
// Command tools/nethttp runs all, but for three more that try how net/http is built (TestOmitHTTP2, TestOmitHTTP2Vet, TestCmdGoNoHTTPServer).
//
// # Websockets
//
// A connection that Hijack gave away is package net's, and an idle one costs what it costs there: the goroutine that waits for a message,
// and buffers. With [Parkable] it stays with aio, and a program that parks it ([Conn.Park]) has neither until something comes;
// examples/websockets has 10,000 of them beside the usual ways.
//
// # What is bounded
//
// Of a connection up to 64 KiB, and one read more, are read before somebody asks for them
// ([Options].MaxUnreadBytes), and up to 256 KiB of answers are queued before Write waits
// (MaxQueuedBytes). All connections of a Serve together have 32 MiB (MaxBytes). When these are used
// up, a Write waits until the kernel has its bytes, and 4 KiB of a connection are read at a time.
// The number of connections is [Options].MaxConns, or the process's limit of descriptors; where
// that is reached, those that come wait in the kernel's queue until one ends.
//
// A connection has a worker, with net/http's goroutine and buffers, from the first bytes of a request on (the fourth, of
// one that has been served before). But when 64 workers wait for the rest of a header, further ones wait in the loop, up
// to 4 KiB each, for an empty line: so thousands of clients that send a byte each second cost little. Meanwhile net/http
// refuses a wrong request of theirs when its header has ended, and not at its first wrong line, and one that is not there
// in time is not answered at all. Not so with TLS, where handshakes too have a worker each, nor where a client sends the
// beginning of a request together with the one before, nor once 4 KiB of a header have come: there each slow client costs what it
// costs with net/http. For all of these times ReadHeaderTimeout and IdleTimeout of the
// http.Server count, from the same moments as with net/http; without them a client may take for ever.
//
// [StatsOf] says what there is, and counts what was refused, by why.
package httpd
