// Package netconn has connections of package aio that block: each [Conn] is a net.Conn over an
// aio.Conn, for code that wants one, as crypto/tls, bufio and net/http do.
//
// It is for programs that drive most of their connections by aio and have a few that other code
// speaks over, or that want a net.Conn while a handshake lasts and the handle afterwards. [New]
// makes one of a handle; [NewListener] gives them to an http.Server. Nothing is allocated for an
// operation, and an idle Conn holds 112 bytes beside its handle. Deadlines are those of aio: no timer
// stands behind them.
//
// Operations progress only while a goroutine is in aio.Watcher.WaitIO: either [Drive] in a goroutine of
// its own, or the program's own loop, which hands each result to [Deliver] first. The goroutine of that
// loop must not call Read or Write of a Conn: it would wait for itself.
//
// # Semantics
//
// They are those of *net.TCPConn: errors are *net.OpError but for io.EOF, a deadline that has passed is
// os.ErrDeadlineExceeded, whose Timeout reports true, and use after Close is net.ErrClosed. A deadline
// that is set applies to an operation under way too. Methods may be called by any goroutine; a Write is
// sent as a whole, whoever else writes. Where the Watcher was closed, so is the Conn: net.ErrClosed.
// No limit of aio.Options refuses an operation: a caller that waits has its buffer either way. But what it
// writes counts, so a program's own writes on that Watcher find less of MaxWatcherBytes left.
//
// # Caveats
//
// Each Read and Write is handed to the goroutine in WaitIO and back, which costs two switches: where every
// connection has a goroutine that blocks anyway, *net.TCPConn is faster. There is neither ReadFrom nor
// WriteTo, so io.Copy has a buffer of its own and does without sendfile. Where aio.Watcher.Close
// could not get a buffer back from the kernel (see there), a Read or Write returns all the same: end the
// process then, or do not use that buffer again.
package netconn
