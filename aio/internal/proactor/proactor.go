// Package proactor is what package aio and its backends agree on: an operation, the descriptor
// that it moves bytes of, and the backend that carries it out.
//
// The logic of operations (queues, deadlines, what a full read is, swap buffers) stands above the
// interface, in package aio, once. A backend starts a transfer, and says when it has ended.
//
// An operation's way, from its submission to its return:
//
//	 aio: submit ─> begin ─> Queue ─> run, by turns ────────> over ─> finish ─> WaitIO
//	                            ↑       │ Start                 ↑
//	the interface ──────────────│───────│───────────────────────│──────────────────────
//	                            │       ├─ true: ended at once ─┤
//	 a backend                  │       └─ false: in flight ─> Poll, Cancel or Close
//	                            └────── not over yet: the rest of a full read, a spurious edge
package proactor

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Kind says what an operation transfers.
type Kind uint8

const (
	Recv  Kind = iota // into Rest; the peer's end is io.EOF
	Send              // Rest; may send less
	Sendv             // what the Vec in Tag gives next; may send less
	// into the backend's swap memory (Buf and Swap are set; ENOBUFS when it is full); or nothing: a
	// Recv would not block
	Readable
	Posted    // nothing: it goes from its submission to its return, and no backend sees it
	ShutWrite // nothing: it ends the sending side of the descriptor (shutdown(2)), which is over at once
	// nothing: the descriptor is released when it is at the head of its queue, and no backend sees it
	Closing
	Accept  // nothing: of a listener, a connection is there to be taken by Backend.Accept
	Connect // nothing: what Backend.Connect has begun is over
)

// Mode says how the results of an operation come.
type Mode uint8

const (
	Once      Mode = iota // one, when it is over
	Rejected              // one, with Err: it was never begun
	Multishot             // of an Accept: one for each connection, and one when it is over
	More                  // this is one for a connection of a Multishot, which goes on
)

// Dir is one of the two directions of a descriptor.
type Dir uint8

const (
	In Dir = iota
	Out
)

// Dir returns the direction that the kind uses.
func (k Kind) Dir() Dir {
	switch k {
	case Send, Sendv, ShutWrite, Closing, Connect:
		return Out
	}
	return In
}

// Op is an operation. From [Backend.Start] until it comes back, the backend owns it and its
// buffer; else it is the watcher's, under the watcher's mu.
type Op struct {
	Desc       *Desc
	Next, prev *Op // in the one list that the operation is in

	// Of the transfer: the backend adds to Size and sets Err (io.EOF, or a syscall.Errno).
	Buf  []byte
	Size int
	Err  error
	Kind Kind

	InFlight bool   // the backend has it
	Cause    Cause  // why it was cancelled
	Full     bool   // ends only when all of Buf was transferred
	Swap     bool   // Buf is a part of the swap buffer
	Leaked   bool   // the kernel may still use what was Buf, after Close
	Mode     Mode   // how its results come
	Slot     uint32 // the backend's

	// Of the watcher.
	Index    int32         // in the heap of deadlines; -1: not in it
	Tag      any           // the caller's; of a Sendv its *Vec, which has it
	Deadline time.Duration // since the watcher's start; 0: none
}

// MaxTransfer is the most bytes of one transfer: the kernel copies them while the watcher waits, and the
// other connections with it. A longer operation takes several.
const MaxTransfer = 64 << 10

// MaxEvents is what a backend over readiness fetches at once, at the utmost.
const MaxEvents = 128

// Rest returns what the next transfer is of: Buf[Size:], or its first MaxTransfer bytes.
func (op *Op) Rest() []byte { return op.Buf[op.Size:min(len(op.Buf), op.Size+MaxTransfer)] }

// Room returns how many bytes the next transfer moves at the utmost; of a read without a buffer nobody knows.
func (op *Op) Room() int {
	if op.Kind == Sendv {
		_, n := op.Tag.(*Vec).Next()
		return n
	}
	return len(op.Rest())
}

// Bytes returns how many bytes there are to be sent from the beginning on.
func (op *Op) Bytes() int64 {
	switch op.Kind {
	case Send:
		return int64(len(op.Buf))
	case Sendv:
		return int64(op.Tag.(*Vec).total)
	}
	return 0
}

// Waits is embedded in the tag of a caller that waits for its operation, with one of a kind at a
// time: it has the buffer either way, and no limit refuses it. What else refuses it is the error of
// the submission, not a Result.
type Waits struct{}

func (Waits) waits() {}

// Waiter is such a tag.
type Waiter interface{ waits() }

// Limiter is a tag of reads without a buffer that says how many bytes they bring at most, 0 for no limit but the
// swap memory. The watcher calls it under its mu, when there is something to read.
type Limiter interface{ ProactorReadLimit() int }

// Limit returns how many bytes op, which has no buffer, may read; 0: all that there is room for.
func (op *Op) Limit() int {
	if l, ok := op.Tag.(Limiter); ok {
		return l.ProactorReadLimit()
	}
	return 0
}

// Cause says why a descriptor or an operation was ended before its time.
type Cause uint8

const (
	None Cause = iota
	TimedOut
	Cancelled
	ConnClosed
	WatcherClosed
)

// Desc is the descriptor of a connection or a listener. An idle one costs this, so it is kept small.
type Desc struct {
	// The backend's, under the watcher's mu.
	Num    int32  // the descriptor
	Gen    uint32 // tells it from others that had the same number before
	Ready  Ready
	Stream bool // a short transfer tells that there is no more

	// The watcher's, under its mu but for Closed and Subs.
	Gone    Cause        // it was released, since the connection or the watcher was closed
	Starved [2]bool      // by Dir: its transfers wait for memory, the kernel's or the swap buffer's
	Waited  bool         // it is starved, or was and has been retried since: what is starved again comes first
	Listed  bool         // it waits for its turn to begin operations
	Closed  bool         // under subMu: no more submissions
	Queued  int32        // atomic: operations submitted and not yet returned
	Index   int32        // in the table of connections
	Queues  [2]Queue     // by Dir. Only the head may be in flight
	Bytes   atomic.Int64 // of writes submitted and not yet returned
	Subs    Queue        // under subMu: submitted, and not in Queues yet
	Owner   any          // the connection, as the user knows it
	// the tag of a Readable that waits without an Op (see [Sleeper]), and is all that Queues[In]
	// has; nil: there is none
	Dormant any
}

// Ready is what a readiness backend knows of a descriptor.
type Ready uint8

const (
	CanRead  Ready = 1 << iota // a receive may succeed
	CanWrite                   // a send may succeed
	// the peer has ended, or something else: a short transfer tells nothing, and edges may not come any more
	Hup
)

// Addr is the address of one end of a connection, in little memory: IP, or else Other. One that is not
// known has neither.
type Addr struct {
	IP    netip.AddrPort
	Other net.Addr // a unix socket's
}

// Net returns the address as package net has it, and never nil.
func (a Addr) Net() net.Addr {
	if a.Other != nil {
		return a.Other
	}
	return net.TCPAddrFromAddrPort(a.IP)
}

// Backend carries out operations. All methods but Wait, Yield and Wake are called under the
// watcher's mu; Wait and Yield by the one goroutine in WaitIO, without it; Wake by any goroutine,
// under subMu, and not after Close.
type Backend interface {
	// Name is that of Options.Backend: io_uring, epoll, kqueue.
	Name() string

	// Open duplicates the descriptor of a net.Conn or a net.Listener, registers it, and fills d's part.
	// The caller closes the source when it succeeded. It fails with a bare syscall.Errno, with
	// ErrNoDescriptor for a source that has none, or with what its SyscallConn said.
	Open(source any, d *Desc) error

	// Accept takes a connection that waits at listener, fills d's part, and says where its peer is. It fails
	// with EAGAIN when none waits, and with the errors of accept(2). The connection is registered when an
	// operation has to wait for the first time, which fails if that does.
	Accept(listener, d *Desc) (remote Addr, err error)

	// Connect opens a socket, begins to connect it to addr, registers it, and fills d's part; a Connect is
	// over when that is. It fails with ErrAddress, and with the errors of socket(2) and connect(2).
	Connect(addr net.Addr, d *Desc) error

	// Local says the address of d's own end.
	Local(d *Desc) Addr

	// Release unregisters the descriptor and closes it, at once, when what was started before has
	// been tried. Operations of it that are in flight have been cancelled; those of which Cancel
	// said false still come from Poll.
	Release(d *Desc)

	// Detach gives d's connection back, with its options and nothing of it read: it unregisters the
	// descriptor, and closes it for another of the same socket. No operation of d is pending. When it
	// fails, as with EMFILE, nothing has changed.
	Detach(d *Desc) (net.Conn, error)

	// Control calls f with the descriptor. It reports false where there is none.
	Control(d *Desc, f func(fd uintptr)) bool

	// Start begins the transfer of op. True: it is over, or failed. False: the backend has it, and
	// it comes from Poll. There is one op in flight per descriptor and direction.
	Start(op *Op) bool

	// Recv receives at once what is there into buf, or fails with EAGAIN, io.EOF or another error.
	Recv(d *Desc, buf []byte) (int, error)

	// Send sends at once what there is room for of buf, or fails with EAGAIN or another error. No
	// operation of d that writes is pending.
	Send(d *Desc, buf []byte) (int, error)

	// Sendv is Send of what v gives next.
	Sendv(d *Desc, v *Vec) (int, error)

	// Recycle says that what was received into the backend's swap memory was returned, and is over.
	// It reports false when the backend has none: Readable operations receive nothing then.
	Recycle() bool

	// Settle appends operations that have ended by now, of those too that Start was given last: where
	// Start only queues, they are tried first. It appends nothing where Start has tried.
	Settle(done []*Op) []*Op

	// Cancel ends op, which is in flight, early. True: it is back, with what it has transferred.
	// False: it comes from Poll, soon.
	Cancel(op *Op) bool

	// Poll submits what is queued and appends operations that have ended, some hundred at the
	// utmost. It does not block. The error is EAGAIN when the kernel did not take all for lack of
	// memory; any other says that the backend is of no use any more.
	Poll(done []*Op) ([]*Op, error)

	// Wait blocks until there may be something to Poll, Wake was called since the last Wait, or
	// the timeout is over (none when negative).
	Wait(timeout time.Duration) error
	Wake()

	// Yield lets other goroutines run, those too that wait for the network in the runtime's own
	// poller. It is called as Wait is.
	Yield()

	// Close cancels all that is in flight, appends it to done, closes the backend, and ends a
	// Wait. Descriptors are released before. What the kernel does not return is Leaked,
	// without its Buf and with Size 0: the backend keeps that memory for ever.
	Close(done []*Op) []*Op
}

// Sleeper is a Backend for which what waits need not exist: a connection that is silent costs no Op.
type Sleeper interface {
	// Sleeps reports whether op, of which Start has just said false, waits for an edge, and nothing
	// refers to it: it may be forgotten, and another one like it, in flight as it was, put in its
	// place.
	Sleeps(op *Op) bool

	// OnEdge has revive called, by Poll, for a descriptor that is Dormant, at an edge of what it waits for.
	OnEdge(revive func(d *Desc))
}

// NewWatcher returns an *aio.Watcher with these aio.Options over a backend. Package aio sets it as
// it is initialised. It stands here, and without aio's types, so that nothing that aio exports
// names a type of this package: only tests put a backend of their own below a Watcher.
var NewWatcher func(options any, b Backend) (watcher any, err error)

// MissingError says what the system lacks for a backend. The user sees it as aio.UnsupportedError.
type MissingError struct {
	Feature string // such as "io_uring"
	Need    string // what would have to be there
}

func (e *MissingError) Error() string { return e.Feature + " is not available here: " + e.Need }

// Refused returns what a backend says when a system call has failed as it is made: a MissingError that names
// the call, where the system does not permit it, and calls, which the backend needs. When there are too many
// descriptors it is the bare syscall.Errno, else err.
func Refused(feature, calls string, err error) error {
	var call *os.SyscallError
	if !errors.As(err, &call) {
		return err
	}
	switch call.Err {
	case syscall.EMFILE, syscall.ENFILE:
		return call.Err
	case syscall.EPERM, syscall.EACCES, syscall.ENOSYS, os.ErrNoDeadline:
		return &MissingError{feature, "permission for " + call.Syscall + "(2), which a seccomp filter refuses (" +
			call.Err.Error() + "): have it allow " + calls}
	}
	return err
}

// ErrNoDescriptor is Open's for a conn that has no descriptor, such as a net.Pipe.
var ErrNoDescriptor = errors.New("the connection has no file descriptor")

// ErrDatagram is Open's for a socket that is no stream of bytes.
var ErrDatagram = errors.New("the socket is one of datagrams or packets")

// ErrAddress is Connect's for an address that is none of a stream socket, or has a name to be resolved.
var ErrAddress = errors.New("the address is none that can be connected to")
