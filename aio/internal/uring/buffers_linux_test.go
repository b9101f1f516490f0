package uring

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestMissing: what New says when a ring cannot be had names the call, and what to do.
func TestMissing(t *testing.T) {
	for _, tt := range []struct {
		call string
		err  error
		want string
	}{
		{"io_uring_setup", syscall.ENOSYS, "Linux 5.6 or later"},
		{"io_uring_setup", syscall.ENOMEM, "ulimit -l"},
		{"io_uring_enter", syscall.EPERM, "permission for io_uring_enter(2)"},
		{"io_uring_register", syscall.EACCES, "permission for io_uring_register(2)"},
		{"epoll_ctl", os.ErrNoDeadline, "permission for epoll_ctl(2)"},
		{"mmap", syscall.ENOSYS, "have it allow io_uring_setup, "},
	} {
		err := missing(os.NewSyscallError(tt.call, tt.err))
		if need := (*proactor.MissingError)(nil); !errors.As(err, &need) || need.Feature != "io_uring" ||
			!strings.Contains(need.Need, tt.want) {
			t.Errorf("%s, %v: %v, want %q", tt.call, tt.err, err, tt.want)
		}
	}
	if err := missing(os.NewSyscallError("eventfd2", syscall.EMFILE)); err != syscall.EMFILE {
		t.Errorf("no descriptors left: %v, want the errno", err)
	}
}

// TestDisabled: the sysctl's three values (Documentation/admin-guide/sysctl/kernel.rst).
func TestDisabled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "io_uring_disabled")
	if how := disabled(file); how != "" {
		t.Errorf("no such sysctl, before Linux 6.6: %q", how)
	}
	for value, want := range map[string]string{"0\n": "", "1\n": "kernel.io_uring_group", "2\n": "forbids it to all"} {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		if how := disabled(file); !strings.Contains(how, want) || want == "" && how != "" {
			t.Errorf("%q: %q, want %q", value, how, want)
		}
	}
}

// TestSubmitPastAnError: one entry that the kernel refuses does not stop those behind it, nor is any
// submitted twice.
func TestSubmitPastAnError(t *testing.T) {
	r, err := setup(entries)
	if err != nil {
		t.Skip("needs io_uring: ", err)
	}
	defer r.close()
	const nop, unknown = 0, 255
	for i, opcode := range []uint8{nop, unknown, nop, unknown, nop} {
		e := r.get()
		e.opcode, e.userData = opcode, uint64(i)
	}
	if err := r.submit(); err != nil {
		t.Error(err)
	}
	got := map[uint64][]int32{} // in any order: Linux 6.1 tells of what it refuses first
	for c, ok := r.next(); ok; c, ok = r.next() {
		got[c.userData] = append(got[c.userData], c.res)
	}
	refused := -int32(syscall.EINVAL)
	if want := map[uint64][]int32{0: {0}, 1: {refused}, 2: {0}, 3: {refused}, 4: {0}}; !maps.EqualFunc(got, want,
		slices.Equal) {
		t.Errorf("completions %d, want %d", got, want)
	}
}
