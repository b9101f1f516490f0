// Package leaks fails tests that leave goroutines or open files behind.
package leaks

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests and ends the process. Call it in TestMain.
func Main(m *testing.M) {
	flag.Parse()
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		_ = l.Close() // makes the runtime's poller open its files
	}
	left := lookFor()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); code == 0 && (f == nil || f.Value.String() == "") {
		if err := left(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Test is Main for one test. Call it before you register other clean-ups.
func Test(t testing.TB) {
	t.Helper()
	left := lookFor(goleak.IgnoreCurrent())
	t.Cleanup(func() {
		if err := left(); err != nil {
			t.Error(err)
		}
	})
}

func lookFor(known ...goleak.Option) (left func() error) {
	opened := Files()
	return func() error {
		err := Goroutines(known...)
		if left := opened(); left != "" {
			err = errors.Join(err, fmt.Errorf("files left open:%s", left))
		}
		return err
	}
}

// Goroutines returns an error that lists the goroutines that do not end within some 20 s.
func Goroutines(known ...goleak.Option) (err error) {
	for range 50 {
		if err = goleak.Find(known...); err == nil { // looks for half a second
			return nil
		}
	}
	return err
}

// Files returns a function that names the files opened from now on and still open after 10 s. It
// compares names too, because the kernel reuses numbers.
func Files() func() string {
	before := openFiles()
	return func() (left string) {
		for range 500 {
			if left = filesBeyond(before); left == "" {
				break
			}
			runtime.GC()
			time.Sleep(20 * time.Millisecond)
		}
		return left
	}
}

func filesBeyond(before map[string]string) (left string) {
	kinds := map[string]int{}
	for fd, what := range openFiles() {
		if before[fd] != what && !strings.HasPrefix(what, "/proc/") {
			kind, _, _ := strings.Cut(what, ":[") // socket:[1234]
			kinds[kind]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		left += fmt.Sprintf(" %d x %s", kinds[kind], kind)
	}
	return left
}

func openFiles() map[string]string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	files := map[string]string{}
	for _, e := range entries {
		if what, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			files[e.Name()] = what
		}
	}
	return files
}

// Started returns a function that counts the goroutines started from now on.
func Started() func() int {
	before := running()
	return func() int {
		n := 0
		for id := range running() {
			if !before[id] {
				n++
			}
		}
		return n
	}
}

// running returns the numbers of all goroutines, which are never reused.
func running() map[string]bool {
	var stacks bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
	ids := map[string]bool{}
	for line := range bytes.Lines(stacks.Bytes()) {
		if rest, ok := bytes.CutPrefix(line, []byte("goroutine ")); ok {
			id, _, _ := bytes.Cut(rest, []byte(" "))
			ids[string(id)] = true
		}
	}
	return ids
}
