//go:build linux

package main

import (
	"fmt"
	"net/http"
)

// garbage is the workload of gci-go's hello, 10 MB of garbage per request.
func garbage(w http.ResponseWriter, _ *http.Request) {
	sum := 0
	for i := range 10 {
		b := make([]byte, 1e6)
		b[i] = byte(i)
		sum += int(b[0]) + int(b[i]) // or the compiler would leave the slice out
	}
	fmt.Fprintln(w, "hello", sum)
}

// pushLocally pushes a message into a window that the function drops.
//
//go:noinline
func pushLocally(size, i int) {
	var window [200_000][]byte
	m := make([]byte, size)
	for k := range m {
		m[k] = byte(k)
	}
	window[i%len(window)] = m
}
