// Package leaks fails tests that leave goroutines or open files behind.
package leaks

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
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
	opened := Files()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); code == 0 && (f == nil || f.Value.String() == "") {
		if err := Goroutines(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
		if left := opened(); left != "" {
			fmt.Fprintln(os.Stderr, "files left open:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// Test is Main for one test. Call it before you register other clean-ups.
func Test(t testing.TB) {
	t.Helper()
	opened, running := Files(), goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := Goroutines(running); err != nil {
			t.Error(err)
		}
		if left := opened(); left != "" {
			t.Error("files left open:", left)
		}
	})
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
	stacks := make([]byte, 1<<20)
	for n := 0; ; stacks = make([]byte, 2*len(stacks)) {
		if n = runtime.Stack(stacks, true); n < len(stacks) {
			stacks = stacks[:n]
			break
		}
	}
	ids := map[string]bool{}
	for line := range bytes.Lines(stacks) {
		if rest, ok := bytes.CutPrefix(line, []byte("goroutine ")); ok {
			id, _, _ := bytes.Cut(rest, []byte(" "))
			ids[string(id)] = true
		}
	}
	return ids
}
