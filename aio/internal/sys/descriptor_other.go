//go:build !linux && !darwin && !freebsd && !openbsd && !netbsd && !dragonfly

package sys

// Dup returns -1 and no error: there is no backend here whose descriptors it could duplicate.
func Dup(any) (fd int, err error) { return -1, nil }
