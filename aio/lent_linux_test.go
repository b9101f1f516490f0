package aio_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
)

// TestThreadHangs: what a thread has submitted goes on when that thread hangs in a system call. Go lends the
// thread of a goroutine that waits to others, whose calls may be long.
//
// The call is one that no signal interrupts: the thread that starts a program waits in the kernel until the
// new process has opened the program's file (clone(2), CLONE_VFORK). Here that takes until the test gives up
// a lease on the file (fcntl(2), F_SETLEASE).
func TestThreadHangs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	onEach(t, func(t *testing.T, b aio.Backend) {
		const large = 16 << 20 // more than the sockets hold
		program := lease(t)
		w := open(t, aio.Options{Backend: b})
		reads, readsPeer := attached(t, w)
		swaps, swapsPeer := attached(t, w)
		writes, writesPeer := attached(t, w)
		must(t, reads.Read("read", make([]byte, 1), none))
		must(t, swaps.Read("swap", nil, none))
		must(t, writes.Write("write", make([]byte, large), none))

		// The thread holds its P while it hangs, and a collection would wait for it.
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		begun, back := make(chan error), make(chan error, 1)
		var thread int
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			thread = syscall.Gettid()
			var err error
			for range 2 { // of two calls one at least asks the kernel
				_ = w.Post(nil)
				if _, e := w.WaitIO(); e != nil {
					err = e
				}
			}
			begun <- err
			_, err = syscall.ForkExec(program.Name(), []string{program.Name()}, &syscall.ProcAttr{})
			back <- err
		}()
		must(t, <-begun)
		eventually(t, "the new process opens its program", func() bool {
			return fcntl(program, syscall.F_GETLEASE, 0) != syscall.F_WRLCK
		})

		over := make(chan aio.Result, 3)
		go func() {
			for n := 0; n < cap(over); {
				results, err := w.WaitIO()
				if err != nil {
					return // closed, as the test has failed
				}
				for _, r := range results {
					over <- r
					n++
				}
			}
		}()
		go func() { _, _ = io.CopyN(io.Discard, writesPeer, large) }()
		for _, peer := range []net.Conn{readsPeer, swapsPeer} {
			_, err := peer.Write([]byte("x"))
			must(t, err)
		}
		for range cap(over) {
			must(t, (<-over).Error)
		}
		if state := stateOf(t, thread); state != 'D' { // the kernel breaks a lease after 45 seconds
			t.Errorf("operations were over when the thread that had submitted them was in state %c, want D: they "+
				"have waited for it", state)
		}
		fcntl(program, syscall.F_SETLEASE, syscall.F_UNLCK)
		if err := <-back; err != syscall.ENOEXEC {
			t.Errorf("starting what is no program: %v", err)
		}
	})
}

// lease returns a file that nobody can open.
func lease(t *testing.T) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(path, []byte("none"), 0o700))
	f, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	if fcntl(f, syscall.F_SETLEASE, syscall.F_WRLCK) < 0 {
		t.Skip("needs leases (fcntl(2), F_SETLEASE) on the file system of os.TempDir")
	}
	return f
}

// stateOf returns the state of a thread of this process (proc(5), stat).
func stateOf(t *testing.T, thread int) byte {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
	must(t, err)
	_, fields, _ := strings.Cut(string(stat), ") ")
	return fields[0]
}

// fcntl is fcntl(2), -1 when it fails.
func fcntl(f *os.File, cmd, arg int) int {
	n, _, _ := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), uintptr(cmd), uintptr(arg))
	return int(n)
}
