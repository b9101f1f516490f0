//go:build unix

package tools

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestMain gives the scripts that the tests start the signals that end them. Under nohup, or behind a shell's &,
// some are ignored, which children inherit; what a Go program catches is the default again in its children.
func TestMain(m *testing.M) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(m.Run())
}
