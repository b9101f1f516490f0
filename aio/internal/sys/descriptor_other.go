//go:build !linux && !darwin && !freebsd && !openbsd && !netbsd && !dragonfly

package sys

// Dup returns -1, because this system has no backend.
func Dup(any) (fd int, err error) { return -1, nil }
