// Package testutil has what tests of several packages use.
package testutil

import (
	"net"
	"os"
	"runtime"
)

// Loopback returns a loopback address of this process, so a freed port stays free. Only Linux has
// more than one.
func Loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	pid := os.Getpid()
	return net.IPv4(127, byte(64+pid>>16&63), byte(pid>>8), byte(pid)).String()
}
