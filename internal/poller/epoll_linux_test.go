package poller

import (
	"os"
	"syscall"
	"testing"

	"evenkeel.dev/internal/sys"
)

// TestEpollSetupFails: what cannot be set up leaves no descriptor open.
func TestEpollSetupFails(t *testing.T) {
	refuse := func(int, int, *sys.EpollEvent) error { return syscall.ENOSPC } // max_user_watches is used up
	if _, err := newEpoll(refuse); err != syscall.ENOSPC {                    // the runtime's poller opens its own at the first
		t.Fatalf("a wake event that cannot be registered: %v, want ENOSPC", err)
	}
	before := descriptors(t)
	for range 10 {
		_, _ = newEpoll(refuse)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after ten failures", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc/self/fd:", err)
	}
	return len(d)
}

// TestWakeWhileFetching: a Wake whose edge is taken by the look for events, just before a wait, is not lost.
func TestWakeWhileFetching(t *testing.T) {
	p, err := NewEpoll()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(nil)
	p.kernel = wakesFirst{p.kernel, p}
	if !p.fetched() {
		t.Error("nothing to handle, says the look that took the wake-up's edge: the wait would never end")
	}
}

// wakesFirst has the poller woken whenever it looks for events.
type wakesFirst struct {
	kernel
	p *Poller
}

func (k wakesFirst) poll(events []event) (int, error) {
	k.p.Wake()
	return k.kernel.poll(events)
}
