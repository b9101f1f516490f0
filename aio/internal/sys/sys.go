// Package sys is the one importer of golang.org/x/sys: the system calls that the backends of
// package aio need, in the form that they need.
//
// Invariant of its unsafe code: a slice's memory is passed to the kernel only for the time of the
// call, while the slice is held by the caller's frame.
package sys
