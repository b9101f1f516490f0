package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// IoUringSetup is io_uring_setup(2). p points to a struct io_uring_params.
func IoUringSetup(entries uint32, p unsafe.Pointer) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(p), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// IoUringRegister is io_uring_register(2).
func IoUringRegister(fd int, op uint32, arg unsafe.Pointer, n uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(fd), uintptr(op), uintptr(arg), uintptr(n), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// IoUringEnter is io_uring_enter(2) that waits for nothing, so the scheduler is not told.
func IoUringEnter(fd int, submit, flags uint32) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), uintptr(submit), 0, uintptr(flags), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// MapShared is mmap(2) of a part of fd that the kernel shares with us.
func MapShared(fd int, offset int64, size int) ([]byte, error) {
	return unix.Mmap(fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// MapAnonymous is mmap(2) of memory of our own, at the start of a page.
func MapAnonymous(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// Unmap ends a mapping.
func Unmap(mem []byte) { _ = unix.Munmap(mem) }
