// Package leaks fails a test binary whose tests leave goroutines or open files behind.
package leaks

import (
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests, and ends the process: a TestMain calls it.
func Main(m *testing.M) {
	flag.Parse()
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		_ = l.Close() // the runtime's poller keeps its files once it has them
	}
	before := openFiles()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); code == 0 && (f == nil || f.Value.String() == "") {
		if err := Goroutines(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
		if left := filesBeyond(before); left != "" {
			fmt.Fprintln(os.Stderr, "files left open:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// Test fails the test when it ends with more goroutines or open files than now. It must come before what the
// test's own clean-up closes.
func Test(t testing.TB) {
	t.Helper()
	before, running := openFiles(), goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := Goroutines(running); err != nil {
			t.Error(err)
		}
		if left := filesBeyond(before); left != "" {
			t.Error("files left open:", left)
		}
	})
}

// Goroutines says which are left, but for those that are known. Some still end, by what the kernel or another process tells them: they
// have some 20 s for it.
func Goroutines(known ...goleak.Option) (err error) {
	for range 50 {
		if err = goleak.Find(known...); err == nil { // looks for half a second
			return nil
		}
	}
	return err
}

// openFiles counts this process's open files by what they are; nil where /proc is missing.
func openFiles() map[string]int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	n := map[string]int{}
	for _, e := range entries {
		if what, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			kind, _, _ := strings.Cut(what, ":[") // socket:[1234]
			n[kind]++
		}
	}
	return n
}

// filesBeyond names what stays open and was not before; it gives the collector 10 s to close it.
func filesBeyond(before map[string]int) (left string) {
	for range 500 {
		left = ""
		for kind, n := range openFiles() {
			if n > before[kind] && !strings.HasPrefix(kind, "/proc/") {
				left += fmt.Sprintf(" %d x %s", n-before[kind], kind)
			}
		}
		if left == "" {
			return ""
		}
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	return left
}
