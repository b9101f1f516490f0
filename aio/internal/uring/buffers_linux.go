package uring

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"unsafe"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// The swap memory is cut into so many buffers. One that is partly used stays so over a WaitIO.
const bufferCount = 4

// buffers is a ring of provided buffers (io_uring_register_buf_ring(3)) that the kernel uses up
// incrementally (IOU_PBUF_RING_INC, Linux 6.12). A receive takes as many bytes as have come, and
// the next one goes on behind them. So idle connections hold no memory.
//
// A receive ends with its buffer, even if more has come. Then its bytes are joined with the rest in
// other memory, at most bufferCount times until the buffers are recycled.
type buffers struct {
	entries []bufferEntry // shared with the kernel
	page    []byte        // mapped, for the entries
	memory  [bufferCount][]byte
	used    [bufferCount]int
	spent   []uint16 // used up. Their bytes may still be read
	tail    uint16

	half int // of the swap memory
	// up to two, each as large as the swap memory, made when needed
	joints [][]byte
	joint  int // in use
	joined int // its bytes in use
}

// bufferEntry is struct io_uring_buf. The first one's last field is the tail.
type bufferEntry struct {
	addr   uint64
	length uint32
	id     uint16
	tail   uint16
}

// newBuffers is io_uring_setup_buf_ring for group 0. It returns nil if the kernel lacks it.
func newBuffers(r *ring, size int) *buffers {
	each := size / bufferCount
	if each == 0 {
		return nil
	}
	page, err := sys.MapAnonymous(int(unsafe.Sizeof(bufferEntry{})) * bufferCount)
	if err != nil {
		return nil
	}
	b := &buffers{page: page, half: size / 2, entries: unsafe.Slice((*bufferEntry)(unsafe.Pointer(&page[0])),
		bufferCount)}
	reg := struct {
		addr    uint64
		entries uint32
		group   uint16
		flags   uint16
		_       [3]uint64
	}{addr: uint64(uintptr(unsafe.Pointer(&page[0]))), entries: bufferCount, flags: bufferRingInc}
	if sys.IoUringRegister(r.fd, registerBufferRing, unsafe.Pointer(&reg), 1) != nil {
		sys.Unmap(page)
		return nil
	}
	memory := make([]byte, each*bufferCount)
	for i := range b.memory {
		b.memory[i] = memory[i*each : (i+1)*each]
		b.spent = append(b.spent, uint16(i))
	}
	b.recycle()
	if b.prove(r) {
		return b
	}
	_ = sys.IoUringRegister(r.fd, unregisterBufferRing, unsafe.Pointer(&reg), 1)
	sys.Unmap(page)
	return nil
}

// recycle is io_uring_buf_ring_add and io_uring_buf_ring_advance for what was used up, the last
// first, because it is in the cache.
func (b *buffers) recycle() {
	for n := len(b.spent); n > 0; n-- {
		id := b.spent[n-1]
		e := &b.entries[b.tail%bufferCount]
		e.addr = uint64(uintptr(unsafe.Pointer(&b.memory[id][0])))
		e.length, e.id = uint32(len(b.memory[id])), id
		b.used[id] = 0
		b.tail++
	}
	b.spent = b.spent[:0]
	b.joint, b.joined = 0, 0
	// The tail is the second half of a word, and the first entry's id the first.
	var word [4]byte
	binary.NativeEndian.PutUint16(word[:], b.entries[0].id)
	binary.NativeEndian.PutUint16(word[2:], b.tail)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b.entries[0].id)), binary.NativeEndian.Uint32(word[:]))
}

// take returns the bytes of a completion. One of EAGAIN has used no buffer, though Linux before
// 6.18 names one (5fda51255439).
func (b *buffers) take(c cqe) []byte {
	id := uint16(c.flags >> cqeBufferShift)
	from := b.used[id]
	b.used[id] += int(c.res)
	if c.flags&cqeBufferMore == 0 {
		b.spent = append(b.spent, id)
	}
	return b.memory[id][from:b.used[id]:b.used[id]]
}

// join returns part, which ended with its buffer, with what else has come on d, up to half of the
// swap memory. It asks the kernel first, because a receive from an empty socket would take away the
// error that the next one has to report.
func (b *buffers) join(d *proactor.Desc, part []byte) []byte {
	if sys.Unread(int(d.Num)) == 0 {
		return part
	}
	if b.joined > b.half {
		b.joint, b.joined = b.joint+1, 0
	}
	if b.joint == len(b.joints) {
		b.joints = append(b.joints, make([]byte, 2*b.half))
	}
	room := b.joints[b.joint][b.joined : b.joined+b.half]
	n := copy(room, part)
	more, _ := sys.Sockets{}.Recv(int(d.Num), room[n:])
	n += more
	b.joined += n
	return room[:n:n]
}

func (b *buffers) close() {
	if b != nil {
		sys.Unmap(b.page)
	}
}

// leaked is memory that the kernel kept, and may use even after the ring is closed.
var leaked struct {
	mu     sync.Mutex
	memory []any
}
