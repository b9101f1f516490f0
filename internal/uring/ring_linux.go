package uring

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"evenkeel.dev/internal/sys"
)

// sqe is struct io_uring_sqe, the fields that are used here (io_uring_enter(2)).
type sqe struct {
	opcode   uint8
	flags    uint8
	ioprio   uint16
	fd       int32
	off      uint64
	addr     uint64
	length   uint32
	opFlags  uint32 // msg_flags, poll32_events, cancel_flags
	userData uint64
	group    uint16 // of provided buffers
	_        [22]byte
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// params is struct io_uring_params.
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

// The kernel's sizes; another one here does not build.
var (
	_ [64]byte  = [unsafe.Sizeof(sqe{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(cqe{})]byte{}
	_ [120]byte = [unsafe.Sizeof(params{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(bufferEntry{})]byte{}
)

// From include/uapi/linux/io_uring.h.
const (
	opPollAdd     = 6
	opAsyncCancel = 14
	opSend        = 26
	opRecv        = 27

	setupCQSize        = 1 << 3
	setupClamp         = 1 << 4
	setupSubmitAll     = 1 << 7
	setupCoopTaskrun   = 1 << 8
	setupTaskrunFlag   = 1 << 9
	featSingleMmap     = 1 << 0
	featNoDrop         = 1 << 1
	featFastPoll       = 1 << 5
	enterGetEvents     = 1 << 0
	sqCQOverflow       = 1 << 1
	sqTaskrun          = 1 << 2
	cqEventfdDisabled  = 1 << 0
	registerEventfd    = 4
	registerProbe      = 8
	registerBufferRing = 22
	bufferRingInc      = 1 << 1
	sqeBufferSelect    = 1 << 5
	cqeBuffer          = 1 << 0
	cqeBufferMore      = 1 << 4
	cqeBufferShift     = 16
	recvPollFirst      = 1 << 0 // ioprio of a receive (Linux 5.19)
	cqeSockNonempty    = 1 << 2
	offSQRing          = 0
	offSQEs            = 0x10000000
	probeSupported     = 1 << 0
)

// pollIn is POLLIN|POLLRDHUP as poll32_events has it, whose halves are swapped on big-endian
// machines.
func pollIn() uint32 {
	const pollin, pollrdhup = 0x1, 0x2000
	const mask uint32 = pollin | pollrdhup
	if littleEndian() {
		return mask
	}
	return mask<<16 | mask>>16
}

// Ring is one io_uring. It is not safe for concurrent use, but for Ready.
type Ring struct {
	fd        int
	pollFirst bool // the kernel knows recvPollFirst

	rings, sqeMem           []byte // mapped
	sqHead, sqTail, sqFlags *uint32
	cqHead, cqTail, cqFlags *uint32
	sqMask, cqMask          uint32
	sqes                    []sqe
	cqes                    []cqe
	tail                    uint32 // of the submissions, ours; the kernel sees it at submit
}

// cqPerEntry is how many completions the ring holds for each entry.
const cqPerEntry = 16

// setup is io_uring_queue_init_params: it maps the rings. Of the optional features, each is left
// out where the kernel does not know it.
func setup(entries uint32) (*Ring, error) {
	var p params
	var fd int
	var err error
	for _, flags := range []uint32{
		setupCoopTaskrun | setupTaskrunFlag | setupSubmitAll, // Linux 5.19
		0,
	} {
		p = params{flags: flags | setupCQSize | setupClamp, cqEntries: cqPerEntry * entries}
		if fd, err = sys.IoUringSetup(entries, unsafe.Pointer(&p)); err != syscall.EINVAL {
			break
		}
	}
	if err != nil {
		return nil, os.NewSyscallError("io_uring_setup", err)
	}
	// That receive came with Linux 5.19, as the flag did, and cannot be asked for by itself.
	r := &Ring{fd: fd, pollFirst: p.flags&setupTaskrunFlag != 0}
	if missing := p.features&(featSingleMmap|featNoDrop|featFastPoll) ^ (featSingleMmap | featNoDrop | featFastPoll); missing != 0 {
		r.close()
		return nil, fmt.Errorf("the kernel's io_uring lacks features %#x (Linux 5.7 has them)", missing)
	}
	if err := r.mapRings(&p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// mapRings is io_uring_mmap.
func (r *Ring) mapRings(p *params) (err error) {
	size := max(p.sqOff.array+p.sqEntries*4, p.cqOff.cqes+p.cqEntries*uint32(unsafe.Sizeof(cqe{})))
	if r.rings, err = sys.MapShared(r.fd, offSQRing, int(size)); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if r.sqeMem, err = sys.MapShared(r.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{}))); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[off])) }
	r.sqHead, r.sqTail, r.sqFlags, r.sqMask = at(p.sqOff.head), at(p.sqOff.tail), at(p.sqOff.flags), *at(p.sqOff.ringMask)
	r.cqHead, r.cqTail, r.cqFlags, r.cqMask = at(p.cqOff.head), at(p.cqOff.tail), at(p.cqOff.flags), *at(p.cqOff.ringMask)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.sqeMem[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.rings[p.cqOff.cqes])), p.cqEntries)
	for i := range r.sqes { // submission i is entry i, always
		*at(p.sqOff.array + uint32(i)*4) = uint32(i)
	}
	return nil
}

// supports is io_uring_opcode_supported: it asks the kernel (io_uring_register(2), PROBE).
func (r *Ring) supports(opcodes ...uint8) error {
	var probe struct {
		lastOp, opsLen uint8
		_              uint16
		_              [3]uint32
		ops            [256]struct {
			op, _ uint8
			flags uint16
			_     uint32
		}
	}
	if err := sys.IoUringRegister(r.fd, registerProbe, unsafe.Pointer(&probe), 256); err != nil {
		return os.NewSyscallError("io_uring_register", err)
	}
	for _, op := range opcodes {
		if op > probe.lastOp || probe.ops[op].flags&probeSupported == 0 {
			return fmt.Errorf("the kernel's io_uring lacks operation %d", op)
		}
	}
	return nil
}

// registerEventfd is io_uring_register_eventfd: completions signal fd, unless silenced.
func (r *Ring) registerEventfd(fd int) error {
	n := int32(fd)
	return os.NewSyscallError("io_uring_register", sys.IoUringRegister(r.fd, registerEventfd, unsafe.Pointer(&n), 1))
}

// silence is io_uring_cq_eventfd_toggle: whether completions do without the eventfd.
func (r *Ring) silence(on bool) {
	var v uint32
	if on {
		v = cqEventfdDisabled
	}
	atomic.StoreUint32(r.cqFlags, v)
}

// get is io_uring_get_sqe: the next free entry, zeroed, or nil when all are taken.
func (r *Ring) get() *sqe {
	if r.tail-atomic.LoadUint32(r.sqHead) == uint32(len(r.sqes)) {
		return nil
	}
	e := &r.sqes[r.tail&r.sqMask]
	r.tail++
	*e = sqe{}
	return e
}

// unsubmitted is io_uring_sq_ready: the entries that the kernel has not taken.
func (r *Ring) unsubmitted() uint32 { return r.tail - atomic.LoadUint32(r.sqHead) }

// submit is io_uring_submit_and_get_events: it gives the entries to the kernel, runs what the
// kernel has postponed for us, and waits for nothing. Without either to do there is no call.
func (r *Ring) submit() error {
	for {
		n := r.unsubmitted()
		if n == 0 && atomic.LoadUint32(r.sqFlags)&(sqCQOverflow|sqTaskrun) == 0 {
			return nil
		}
		atomic.StoreUint32(r.sqTail, r.tail)
		_, err := sys.IoUringEnter(r.fd, n, enterGetEvents)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if err == nil && r.unsubmitted() == 0 {
			return nil
		}
	}
}

// Ready is io_uring_cq_ready: whether a completion is there, or one that needs a call to be seen.
func (r *Ring) Ready() bool {
	return atomic.LoadUint32(r.cqTail) != atomic.LoadUint32(r.cqHead) ||
		atomic.LoadUint32(r.sqFlags)&sqCQOverflow != 0
}

// next is io_uring_peek_cqe and io_uring_cqe_seen: it takes a completion.
func (r *Ring) next() (cqe, bool) {
	head := atomic.LoadUint32(r.cqHead)
	if head == atomic.LoadUint32(r.cqTail) {
		return cqe{}, false
	}
	c := r.cqes[head&r.cqMask]
	atomic.StoreUint32(r.cqHead, head+1)
	return c, true
}

// close is io_uring_queue_exit.
func (r *Ring) close() {
	if r.rings != nil {
		sys.Unmap(r.rings)
	}
	if r.sqeMem != nil {
		sys.Unmap(r.sqeMem)
	}
	sys.Close(r.fd)
}
