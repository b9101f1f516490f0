//go:build !linux

package fastc

func readThread() (t thread, ok bool) { return thread{}, false }
