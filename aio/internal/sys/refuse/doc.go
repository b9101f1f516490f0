// Package refuse has the kernel refuse system calls to this process, as the filter of a container
// does (seccomp(2)): for tests, in a process of their own. There is no way back.
//
// Invariant of its unsafe code: the filter's memory is passed to the kernel, which copies it, only
// for the time of the call.
package refuse
