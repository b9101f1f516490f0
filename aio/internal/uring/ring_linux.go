package uring

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"evenkeel.dev/aio/internal/sys"
)

// sqe is struct io_uring_sqe (io_uring_enter(2)).
type sqe struct {
	opcode   uint8
	flags    uint8
	ioprio   uint16
	fd       int32
	off      uint64
	addr     uint64
	length   uint32
	opFlags  uint32 // msg_flags
	userData uint64
	group    uint16 // of provided buffers
	_        [22]byte
}

type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

type params struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32
	_                                                                      [3]uint32
	sqOff                                                                  struct {
		head, tail, ringMask, ringEntries, flags, dropped, array, _ uint32
		_                                                           uint64
	}
	cqOff struct {
		head, tail, ringMask, ringEntries, overflow, cqes, flags, _ uint32
		_                                                           uint64
	}
}

// The kernel's sizes. Another one here does not build.
var (
	_ [64]byte  = [unsafe.Sizeof(sqe{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(cqe{})]byte{}
	_ [120]byte = [unsafe.Sizeof(params{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(bufferEntry{})]byte{}
)

// From include/uapi/linux/io_uring.h.
const (
	opSendmsg = 9
	opSend    = 26
	opRecv    = 27

	featSingleMmap       = 1 << 0
	registerBufferRing   = 22
	unregisterBufferRing = 23
	bufferRingInc        = 1 << 1
	sqeBufferSelect      = 1 << 5
	cqeBuffer            = 1 << 0
	cqeBufferMore        = 1 << 4
	cqeBufferShift       = 16
	offSQRing            = 0
	offSQEs              = 0x10000000
)

// entries bounds the work of one io_uring_enter, which holds a P. 128 sends over loopback take some 0.4 ms.
const entries = 128

// ring is one io_uring. It is not safe for concurrent use.
type ring struct {
	fd int

	rings, sqeMem  []byte // mapped
	sqHead, sqTail *uint32
	cqHead, cqTail *uint32
	sqMask, cqMask uint32
	sqes           []sqe
	cqes           []cqe
	tail           uint32 // ours. The kernel sees it at submit
}

// setup is io_uring_queue_init.
func setup(entries uint32) (*ring, error) {
	var p params
	fd, err := sys.IoUringSetup(entries, unsafe.Pointer(&p))
	if err != nil {
		return nil, os.NewSyscallError("io_uring_setup", err)
	}
	r := &ring{fd: fd}
	if p.features&featSingleMmap == 0 {
		r.close()
		return nil, errors.New("the kernel's io_uring is too old: use Linux 5.6 or later")
	}
	if err := r.mapRings(&p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// mapRings is io_uring_mmap.
func (r *ring) mapRings(p *params) (err error) {
	size := max(p.sqOff.array+p.sqEntries*4, p.cqOff.cqes+p.cqEntries*uint32(unsafe.Sizeof(cqe{})))
	if r.rings, err = sys.MapShared(r.fd, offSQRing, int(size)); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if r.sqeMem, err = sys.MapShared(r.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{}))); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[off])) }
	r.sqHead, r.sqTail, r.sqMask = at(p.sqOff.head), at(p.sqOff.tail), *at(p.sqOff.ringMask)
	r.cqHead, r.cqTail, r.cqMask = at(p.cqOff.head), at(p.cqOff.tail), *at(p.cqOff.ringMask)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.sqeMem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.rings[p.cqOff.cqes])), p.cqEntries)
	for i := range r.sqes { // submission i is entry i, always
		*at(p.sqOff.array + uint32(i)*4) = uint32(i)
	}
	return nil
}

// get is io_uring_get_sqe: the next free entry, zeroed. flush submits as soon as the queue
// is full.
func (r *ring) get() *sqe {
	e := &r.sqes[r.tail&r.sqMask]
	r.tail++
	*e = sqe{}
	return e
}

// submit is io_uring_submit. Entries that the kernel does not take are taken back. The error is
// EAGAIN if it may take them later.
func (r *ring) submit() error {
	atomic.StoreUint32(r.sqTail, r.tail)
	for {
		left := r.tail - atomic.LoadUint32(r.sqHead)
		if left == 0 {
			return nil
		}
		n, err := sys.IoUringEnter(r.fd, left)
		if n > 0 || err == syscall.EINTR {
			continue
		}
		r.tail = atomic.LoadUint32(r.sqHead)
		atomic.StoreUint32(r.sqTail, r.tail)
		if err == nil || err == syscall.EBUSY || err == syscall.ENOMEM {
			err = syscall.EAGAIN
		}
		return err
	}
}

// next is io_uring_peek_cqe and io_uring_cqe_seen.
func (r *ring) next() (cqe, bool) {
	head := atomic.LoadUint32(r.cqHead)
	if head == atomic.LoadUint32(r.cqTail) {
		return cqe{}, false
	}
	c := r.cqes[head&r.cqMask]
	atomic.StoreUint32(r.cqHead, head+1)
	return c, true
}

// close is io_uring_queue_exit.
func (r *ring) close() {
	if r.rings != nil {
		sys.Unmap(r.rings)
	}
	if r.sqeMem != nil {
		sys.Unmap(r.sqeMem)
	}
	sys.Close(r.fd)
}
