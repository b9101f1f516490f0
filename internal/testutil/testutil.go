// Package testutil has what tests of several packages use.
package testutil

import (
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

// Loopback returns a loopback address of this process, so that a freed port stays free, on Linux.
func Loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	pid := os.Getpid()
	return net.IPv4(127, byte(64+pid>>16&63), byte(pid>>8), byte(pid)).String()
}

// tier says how much a run of the tests does:
//
//	unset  tests skip without the programs that they need
//	full   make test: tests fail without them
//	check  make check: the long tests run too
//	5m     make soak: random tests take fresh seeds for so long
const tier = "EVENKEEL_TEST"

func Checking() bool { return os.Getenv(tier) == "check" }

// Soak returns how long make soak lets each random test run, or 0.
func Soak() time.Duration {
	length, err := time.ParseDuration(os.Getenv(tier))
	if err != nil {
		return 0
	}
	return length
}

// Long skips a test that only make check runs.
func Long(t testing.TB, why string) {
	t.Helper()
	if !Checking() {
		t.Skipf("%s: make check runs it", why)
	}
}

// Slow skips a test under -short.
func Slow(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("%s: go test -short leaves it out", what)
	}
}

// Missing skips a test that lacks a program, or fails it from make test on.
func Missing(t testing.TB, what string) {
	t.Helper()
	Slow(t, what)
	if Checking() || os.Getenv(tier) == "full" || os.Getenv("CI") != "" {
		t.Fatalf("missing: %s", what)
	}
	t.Skipf("missing: %s", what)
}
