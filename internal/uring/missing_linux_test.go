package uring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/internal/proactor"
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
		if need := (*proactor.MissingError)(nil); !errors.As(err, &need) || need.Feature != "io_uring" || !strings.Contains(need.Need, tt.want) {
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
