package uring

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/aio/internal/proactor"
)

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
// submitted twice, with IORING_SETUP_SUBMIT_ALL and without, as before Linux 5.18.
func TestSubmitPastAnError(t *testing.T) {
	for _, flags := range optional {
		r, err := setup(entries, []uint32{flags})
		if err != nil {
			t.Skip("needs io_uring, with the flags ", flags, ": ", err)
		}
		defer r.close()
		const nop, unknown = 0, 255
		for i, opcode := range []uint8{nop, unknown, nop, unknown, nop} {
			e := r.get()
			e.opcode, e.userData = opcode, uint64(i)
		}
		if err := r.submit(); err != nil {
			t.Errorf("flags %#x: %v", flags, err)
		}
		got := map[uint64][]int32{} // in any order: Linux 6.1 tells of what it refuses first
		for c, ok := r.next(); ok; c, ok = r.next() {
			got[c.userData] = append(got[c.userData], c.res)
		}
		refused := -int32(syscall.EINVAL)
		if want := map[uint64][]int32{0: {0}, 1: {refused}, 2: {0}, 3: {refused}, 4: {0}}; !maps.EqualFunc(got, want,
			slices.Equal) {
			t.Errorf("flags %#x: completions %d, want %d", flags, got, want)
		}
	}
}
