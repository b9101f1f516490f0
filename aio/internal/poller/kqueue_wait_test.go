package poller

import (
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio/internal/sys"
)

// What cannot be set up leaves nothing open.
func TestKqueueSetupFails(t *testing.T) {
	s := newScript()
	s.pipeErr = syscall.EMFILE
	if _, err := NewKqueueOver(s, batch); err != syscall.EMFILE || !s.ended {
		t.Errorf("without a pipe: %v, queue closed: %t; want EMFILE, true", err, s.ended)
	}
	s = newScript()
	s.changeErr[sys.Kevent{Ident: wakeFd, Filter: sys.EVFILT_READ, Flags: sys.EV_ADD}] = syscall.ENOMEM
	if _, err := NewKqueueOver(s, batch); err != syscall.ENOMEM || !s.ended ||
		!slices.Equal(s.closed, []int{wakeFd, wakeFd + 1}) {
		t.Errorf("without a wake event: %v, queue closed: %t, descriptors closed: %v", err, s.ended, s.closed)
	}
}

// Interrupted waits are no errors; others are.
func TestKqueueWaitErrors(t *testing.T) {
	s := newScript()
	p := newKqueue(t, s)
	s.waitErrs = []error{syscall.EINTR, syscall.ETIMEDOUT, syscall.EBADF}
	for i, want := range []error{nil, nil, syscall.EBADF} {
		if _, err := p.Poll(nil); err != want {
			t.Errorf("Poll %d: %v, want %v", i, err, want)
		}
	}
	s.waitErrs = []error{syscall.EINTR, syscall.EBADF}
	if err := p.Wait(-1); err != syscall.EBADF {
		t.Errorf("Wait: %v, want it to go on after EINTR, and EBADF", err)
	}
}

func TestKqueueWaitTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		p := newKqueue(t, s)
		for _, timeout := range []time.Duration{0, time.Millisecond, time.Second, 3*maxWait + time.Second} {
			start := time.Now()
			s.waitErrs = []error{syscall.EINTR}
			if err := p.Wait(timeout); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != timeout {
				t.Errorf("Wait(%v) took %v", timeout, took)
			}
		}
	})
}

// A wake is never lost: not one before the wait, not one whose byte Poll took from the pipe.
func TestKqueueWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		p := newKqueue(t, s)
		must := func(what string, timeout time.Duration) {
			t.Helper()
			start := time.Now()
			if err := p.Wait(time.Minute); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > timeout {
				t.Errorf("%s: waited for %v, want at most %v", what, took, timeout)
			}
		}
		p.Wake()
		must("before", 0)
		if _, err := p.Poll(nil); err != nil {
			t.Fatal(err)
		}
		p.Wake()
		if _, err := p.Poll(nil); err != nil { // empties the pipe
			t.Fatal(err)
		}
		must("before, taken by Poll", 0)
		go func() {
			time.Sleep(time.Second)
			p.Wake()
			p.Wake() // one byte is enough
		}()
		must("during", time.Second)
		start := time.Now()
		if err := p.Wait(time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("Wait after all wakes were seen: %v after %v, want its whole time", err, time.Since(start))
		}
	})
}

// The queue and the pipe are closed when no wait uses them, and no wake touches them after.
func TestKqueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		p := newKqueue(t, s)
		waited := make(chan error)
		go func() { waited <- p.Wait(-1) }()
		synctest.Wait()
		if s.blocks() != 1 {
			t.Fatalf("%d waits blocked, want 1", s.blocks())
		}
		s.mu.Lock()
		s.waitErrs = []error{syscall.EINTR}
		s.mu.Unlock()
		start := time.Now()
		p.Close(nil)
		if took := time.Since(start); took != 0 || s.torn {
			t.Errorf("Close took %v, and closed a queue that is waited for: %t", took, s.torn)
		}
		if !s.ended || !slices.Equal(s.closed, []int{wakeFd, wakeFd + 1}) {
			t.Errorf("Close: queue closed: %t, descriptors closed: %v", s.ended, s.closed)
		}
		if err := <-waited; err != nil {
			t.Errorf("Wait: %v", err)
		}
		before := s.pipe
		p.Wake()
		if s.pipe != before {
			t.Error("Wake after Close wrote to a descriptor that may be another's")
		}
		if err := p.Wait(-1); err != nil || s.blocks() != 1 {
			t.Errorf("Wait after Close: %v, blocked %d times", err, s.blocks()-1)
		}
	})
}
