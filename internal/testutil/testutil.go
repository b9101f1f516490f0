// Package testutil has what tests of several packages use.
package testutil

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// Computes skips a test of one goroutine that computes for ten times as long under the race detector.
// make test runs it without.
func Computes(t testing.TB) {
	t.Helper()
	if RaceFlag == "-race=true" {
		t.Skip("it computes in one goroutine: make test runs it without the race detector")
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

// QuotaGroup makes a control group that gets so much CPU in each 100 ms, or skips the test if this
// machine does not allow that. A process joins it by its id in the group's cgroup.procs.
func QuotaGroup(t testing.TB, quota time.Duration) (dir string) {
	t.Helper()
	us := strconv.FormatInt(quota.Microseconds(), 10)
	root, file, limit := "/sys/fs/cgroup", "cpu.max", us+" 100000"
	if v1 := filepath.Join(root, "cpu"); isDir(v1) {
		root, file, limit = v1, "cpu.cfs_quota_us", us
	}
	dir = Group(t, root)
	if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0o600); err != nil {
		t.Skip("cannot set a CPU quota: ", err)
	}
	return dir
}

// Group makes a control group in another, or skips the test.
func Group(t testing.TB, in string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp(in, "evenkeel-test-")
	if err != nil {
		t.Skip("cannot make a control group: ", err)
	}
	t.Cleanup(func() {
		// The kernel notices a moment later that the processes have ended.
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			err := os.Remove(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Error(err)
				return
			}
		}
	})
	return dir
}

func isDir(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.IsDir()
}
