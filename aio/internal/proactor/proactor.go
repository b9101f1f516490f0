// Package proactor is the interface between package aio and its backends. Queues, deadlines, full
// reads and swap buffers are in package aio, once. A backend starts a transfer and reports its end.
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
	"math/bits"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

type Kind uint8

const (
	Recv  Kind = iota // into Rest. The peer's end is io.EOF
	Send              // Rest, or less
	Sendv             // the next buffers of the Vec in Tag, or less
	// into the backend's swap memory, which sets Buf and Swap, or ENOBUFS. Without swap memory it is
	// over when a Recv would not block
	Readable
	Posted    // nothing. No backend sees it
	ShutWrite // nothing: shutdown(2)
	// nothing. The descriptor is released at its turn. No backend sees it
	Closing
	Accept  // nothing: a connection can be taken
	Connect // nothing: the end of Backend.Connect
)

type Mode uint8

const (
	Once      Mode = iota // one at its end
	Rejected              // one, the reason
	Multishot             // of an Accept: one a connection, and one at its end
	More                  // a connection of a Multishot
)

type Dir uint8

const (
	In Dir = iota
	Out
)

func (k Kind) Dir() Dir {
	switch k {
	case Send, Sendv, ShutWrite, Closing, Connect:
		return Out
	}
	return In
}

// Op is an operation. The backend owns it and its buffer from [Backend.Start] until it comes back.
// Otherwise the watcher does, under its mu.
type Op struct {
	Desc       *Desc
	Next, prev *Op // in a list

	// The backend adds to Size and sets Err (io.EOF, or a syscall.Errno).
	Buf  []byte
	Size int
	Err  error
	Kind Kind

	InFlight bool  // the backend has it
	Cause    Cause // why it was cancelled
	Full     bool  // it ends when all of Buf is transferred
	Swap     bool  // Buf is a part of the swap buffer
	Mode     Mode
	Slot     uint32 // the backend's

	// Of the watcher.
	Index    int32         // in the heap of deadlines, or -1
	Tag      any           // the caller's, or the *Vec of a Sendv
	Deadline time.Duration // since the watcher's start. 0: none
}

// MaxTransfer is the most bytes of one transfer, during which the other connections wait.
const MaxTransfer = 64 << 10

const MaxEvents = 128

func (op *Op) Rest() []byte { return op.Buf[op.Size:min(len(op.Buf), op.Size+MaxTransfer)] }

// Room returns the most bytes of the next transfer, or 0 for a read without a buffer.
func (op *Op) Room() int {
	if op.Kind == Sendv {
		_, n := op.Tag.(*Vec).Next()
		return n
	}
	return len(op.Rest())
}

func (op *Op) Bytes() int64 {
	switch op.Kind {
	case Send:
		return int64(len(op.Buf))
	case Sendv:
		return int64(op.Tag.(*Vec).total)
	}
	return 0
}

// Waits is embedded in the tag of a caller that blocks. No limit refuses its operations, because it
// has its buffer anyway. Another refusal is the error of the submission.
type Waits struct{}

func (Waits) waits() {}

type Waiter interface{ waits() }

// Limiter is a tag that bounds the bytes of a read without a buffer. 0 means no limit. The watcher
// calls it under its mu when there is something to read.
type Limiter interface{ ProactorReadLimit() int }

func (op *Op) Limit() int {
	if l, ok := op.Tag.(Limiter); ok {
		return l.ProactorReadLimit()
	}
	return 0
}

type Cause uint8

const (
	None Cause = iota
	TimedOut
	Cancelled
	ConnClosed
	WatcherClosed
)

// Desc is the descriptor of a connection or a listener. An idle connection has one, so it is small.
type Desc struct {
	// Of the backend, under the watcher's mu.
	Num    int32  // the descriptor
	Gen    uint32 // distinguishes it from earlier ones with this number. 0: not watched
	Ready  Ready
	Stream bool // a short transfer means that there is no more

	// Of the watcher, under its mu except State and Subs.
	Released Cause        // why it was released
	Starved  [2]bool      // by Dir: waits for memory
	Waited   bool         // it comes first if it is starved again
	Listed   bool         // in a line for its turn
	State    State        // under subs.mu
	Queued   int32        // atomic: operations not yet returned
	Index    int32        // in the table
	Queues   [2]Queue     // by Dir. Only the head may be in flight
	Bytes    atomic.Int64 // of writes not yet returned
	Subs     Queue        // under subs.mu: not in Queues yet
	Owner    any          // the *Conn or *Listener
	// the tag of a Readable that waits without an Op (see Backend.Sleeps)
	Dormant any
}

type State uint8

const (
	Closed     State = 1 << iota // no more submissions
	Sending                      // a TryWrite sends: the loop takes no submissions
	Waiting                      // there are submissions for the end of Sending
	CloseWrite                   // a ShutWrite is pending
)

type Ready uint8

const (
	CanRead  Ready = 1 << iota // a receive may succeed
	CanWrite                   // a send may succeed
	// the peer has ended. A short transfer means nothing, and no edge may follow
	Hup
)

// Addr is an address in little memory. The zero value is unknown.
type Addr struct {
	IP    netip.AddrPort
	Other net.Addr // a unix socket's
}

// Net returns the address, never nil.
func (a Addr) Net() net.Addr {
	if a.Other != nil {
		return a.Other
	}
	return net.TCPAddrFromAddrPort(a.IP)
}

// Backend carries out operations. Its methods are called under the watcher's mu, except that the
// goroutine in WaitIO calls Wait and Yield without it, and any goroutine calls Wake under subs.mu,
// but not after Close.
type Backend interface {
	Name() string // the text of Options.Backend

	// Open duplicates the descriptor of a net.Conn or a net.Listener, and fills d. It fails with a
	// syscall.Errno, ErrNoDescriptor, ErrDatagram, or the error of SyscallConn.
	Open(source any, d *Desc) error

	// Accept takes a connection from listener and fills d. It fails with EAGAIN if none waits.
	Accept(listener, d *Desc) (remote Addr, err error)

	// Connect begins to connect a new socket, and fills d. A Connect operation waits for the end. It
	// fails with ErrUnresolved, and as socket(2) and connect(2).
	Connect(addr net.Addr, d *Desc) error

	Local(d *Desc) Addr

	// Release closes the descriptor, after trying what was started. Its operations in flight are
	// cancelled. Those that Cancel left still come from Poll.
	Release(d *Desc)

	// Detach gives the connection back. No operation is pending. On an error nothing has changed.
	Detach(d *Desc) (net.Conn, error)

	// Move hands the descriptor of d to another backend, as moved. No operation is pending. It
	// returns false if the backends differ. The caller holds the mu of both watchers.
	Move(d *Desc, to Backend, moved *Desc) bool

	// Control calls f with the descriptor, or returns false if there is none.
	Control(d *Desc, f func(fd uintptr)) bool

	// Start begins the transfer of op, the only one of its descriptor and direction. It returns
	// true if op is over or failed. Otherwise op comes from Poll.
	Start(op *Op) bool

	// Recv receives what is there, or fails with EAGAIN or io.EOF.
	Recv(d *Desc, buf []byte) (int, error)

	// Send sends what there is room for, or fails with EAGAIN. No write of d is pending. Any
	// goroutine calls it and Sendv, without the watcher's mu, while d is Sending.
	Send(d *Desc, buf []byte) (int, error)

	Sendv(d *Desc, v *Vec) (int, error)

	// Recycle frees the swap memory. It returns false if there is none. Then Readable operations
	// receive nothing.
	Recycle() bool

	// Settle appends operations that are over, after trying what is queued.
	Settle(done []*Op) []*Op

	// Cancel ends op, which is in flight, or returns false if op comes from Poll soon.
	Cancel(op *Op) bool

	// Poll submits what is queued and appends some hundred ended operations at most, without
	// blocking. EAGAIN means a lack of memory. After another error the backend is useless.
	Poll(done []*Op) ([]*Op, error)

	// Wait blocks until Poll may have something, until a Wake since the last Wait, or until the
	// timeout, unless that is negative.
	Wait(timeout time.Duration) error
	Wake()

	// Yield lets other goroutines run, including those in the runtime's network poller.
	Yield()

	// Close cancels and appends what is in flight, and ends a Wait. Descriptors are released before.
	Close(done []*Op) []*Op

	// Sleeps reports whether op, for which Start returned false, waits for an edge, so that another
	// Op may take its place later.
	Sleeps(op *Op) bool

	// OnEdge makes Poll call revive for a Dormant descriptor at an edge.
	OnEdge(revive func(d *Desc))

	// Holds returns what is open, or nil if the garbage collector closes that.
	Holds() *Held
}

// NewWatcher returns an *aio.Watcher with these aio.Options over b, for tests. Package aio sets it.
// It is untyped, so that aio exports no type of this package.
var NewWatcher func(options any, b Backend) (watcher any, err error)

// MissingError matches errors.ErrUnsupported.
type MissingError struct {
	Feature string // such as "io_uring"
	Need    string // what is missing
}

func (e *MissingError) Error() string {
	return "aio: " + e.Feature + " is not available here: " + e.Need
}

func (e *MissingError) Is(target error) bool { return target == errors.ErrUnsupported }

// Refused turns err, of a call that opens a backend, into a MissingError if the system does not
// permit the call. calls are all that the backend needs. Without descriptors it is a bare Errno.
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

// Errors of package aio that backends return.
var (
	ErrNoDescriptor = errors.New("aio: the connection has no file descriptor: attach the *net.TCPConn or " +
		"*net.UnixConn below it")
	ErrDatagram = errors.New("aio: the connection is one of datagrams or packets (udp, unixgram, unixpacket): use " +
		"package net for it")
	ErrUnresolved = errors.New("aio: the address is not an IP and port, nor a unix socket's: resolve a name before, " +
		"as by net.ResolveTCPAddr or a net.Resolver, outside of the loop")
)

// Held is what a backend has open. It refers to no connection, so that the garbage collector finds
// a forgotten Watcher, whose cleanup closes Held. Add and Remove are called under the watcher's mu.
type Held struct {
	CloseFd func(fd int) // of a connection or a listener
	Rest    func()       // closes the backend's own descriptors
	conns   []uint64     // a bit for each descriptor
}

func (h *Held) Add(fd int32) {
	for int(fd/64) >= len(h.conns) {
		h.conns = append(h.conns, 0)
	}
	h.conns[fd/64] |= 1 << (fd % 64)
}

func (h *Held) Remove(fd int32) { h.conns[fd/64] &^= 1 << (fd % 64) }

func (h *Held) Close() (n int) {
	for i, word := range h.conns {
		for ; word != 0; word &= word - 1 {
			h.CloseFd(64*i + bits.TrailingZeros64(word))
			n++
		}
	}
	h.Rest()
	return n
}
