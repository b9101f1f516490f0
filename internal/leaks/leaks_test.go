package leaks

import (
	"net"
	"os"
	"testing"
)

// TestFilesBeyond: a file that is opened while an earlier one closes is found, though the number of
// files stays, and the kernel gives the earlier one's number out again.
func TestFilesBeyond(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc/self/fd:", err)
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	earlier := listen()
	before := openFiles()
	if left := filesBeyond(before); left != "" {
		t.Errorf("nothing was opened, and left are%s", left)
	}
	_ = earlier.Close()
	if left := filesBeyond(before); left != "" {
		t.Errorf("one was closed, and left are%s", left)
	}
	mine := listen()
	if left := filesBeyond(before); left != " 1 x socket" {
		t.Errorf("left are%s, want the test's own socket", left)
	}
	_ = mine.Close()
	if left := filesBeyond(before); left != "" {
		t.Errorf("all are closed, and left are%s", left)
	}
}

// TestStarted: goroutines that end meanwhile don't hide others that were started.
func TestStarted(t *testing.T) {
	start := func(n int) (end func()) {
		begun, over, ended := make(chan bool), make(chan bool), make(chan bool)
		for range n {
			go func() {
				begun <- true
				<-over
				ended <- true
			}()
			<-begun
		}
		return func() {
			close(over)
			for range n {
				<-ended
			}
		}
	}
	endEarlier := start(20)
	started := Started()
	if n := started(); n != 0 {
		t.Errorf("%d goroutines, before any was started", n)
	}
	end := start(10)
	endEarlier()
	if n := started(); n != 10 {
		t.Errorf("%d goroutines, want the 10 that were started", n)
	}
	end()
}
