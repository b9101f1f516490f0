package uring

import (
	"bytes"
	"net"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// TestNothingUsesNoBuffer: a read without a buffer that finds nothing leaves the buffers as they
// were. Linux 6.12 to 6.17 name the one that it would have had, and do not use it up
// (io_uring/net.c, io_recv; mended by 5fda51255439, in 6.18 and later 6.12): another one has it
// next.
func TestNothingUsesNoBuffer(t *testing.T) {
	b, ops := opened(t)
	defer func() {
		released(b, ops)
		b.Close(nil)
	}()
	if b.buffers == nil {
		t.Skip("needs provided buffers that are used up incrementally (Linux 6.12)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := uint32(b.buffers.entries[0].id) // all messages have room there
	for i := range 64 {
		op := &proactor.Op{Kind: proactor.Readable}
		peer := connect(t, b, l, op)
		if done, err := b.Poll(nil); len(done) != 0 || err != nil {
			t.Fatalf("Poll with nothing to read: %v, %v", done, err)
		}
		queue(b, []*proactor.Op{op})
		// as those kernels say it
		b.complete(nil, cqe{
			userData: uint64(op.Slot), res: -int32(syscall.EAGAIN),
			flags: cqeBuffer | first<<cqeBufferShift,
		})
		b.queued = b.queued[:0]
		b.Recycle()
		sent := bytes.Repeat([]byte{byte('a' + i%26)}, 1+30*(i%7))
		if _, err := peer.Write(sent); err != nil {
			t.Fatal(err)
		}
		var done []*proactor.Op
		for len(done) == 0 && err == nil {
			if err = b.Wait(time.Minute); err == nil {
				done, err = b.Poll(nil)
			}
		}
		if len(done) != 1 || err != nil || done[0].Err != nil || !bytes.Equal(done[0].Buf, sent) {
			t.Fatalf("message %d: %d operations, %v; it has %.40q…, sent was %.40q…", i, len(done), err, done[0].Buf,
				sent)
		}
		op.Desc.Queues[proactor.In].Pop()
		b.Release(op.Desc)
	}
}
