//go:build unix

package observe

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestFollowPipe reads what comes through a pipe, of several writers too, and stops while there is
// one.
func TestFollowPipe(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // when it is read
		if err == nil {
			_, err = f.WriteString(gcLineAt(1, time.Second) + gcLineAt(2, 2*time.Second))
			err = errors.Join(err, f.Close())
		}
		first <- err
	}()
	var tr trace
	stop, err := tr.follow(t.Context(), fifo)
	if err = errors.Join(err, <-first); err != nil {
		t.Fatal(err)
	}
	defer stop()
	awaitCount(t, &tr, 2)
	again, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.WriteString(gcLineAt(3, 3*time.Second)); err != nil {
		t.Fatal(err)
	}
	awaitCount(t, &tr, 3)
	stop()
}
