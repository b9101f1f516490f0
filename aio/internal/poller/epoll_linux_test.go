package poller

import (
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

// TestEpollSetupFails: what cannot be set up leaves no descriptor open.
func TestEpollSetupFails(t *testing.T) {
	refuse := func(int, int, *syscall.EpollEvent) error { return syscall.ENOSPC } // max_user_watches is used up
	if _, err := newEpoll(batch, refuse); err != syscall.ENOSPC {
		// the runtime's poller opens its own at the first
		t.Fatalf("a wake event that cannot be registered: %v, want ENOSPC", err)
	}
	opened := leaks.Files()
	for range 10 {
		_, _ = newEpoll(batch, refuse)
	}
	if left := opened(); left != "" {
		t.Error("files left open:", left)
	}
}

// TestWakeWhileFetching: a Wake whose edge is taken by the look for events, just before a wait, is not lost.
func TestWakeWhileFetching(t *testing.T) {
	p, err := NewEpoll(batch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(nil)
	p.kernel = wakesFirst{p.kernel, p}
	if !p.fetched() {
		t.Error("nothing to handle, says the look that took the wake-up's edge: the wait would never end")
	}
}

// busy has a goroutine beside the test that can always run, and one processor for both: the
// scheduler does not look at the network then, which is left to sysmon, every 10 ms. It returns how
// many turns that goroutine had so far.
func busy(t *testing.T) *atomic.Int64 {
	procs := runtime.GOMAXPROCS(1)
	var over atomic.Bool
	turns := new(atomic.Int64)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !over.Load() {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	t.Cleanup(func() {
		over.Store(true)
		<-ended
		runtime.GOMAXPROCS(procs)
	})
	return turns
}

// TestWakeBesideBusy: a Wake needs no look at the network.
func TestWakeBesideBusy(t *testing.T) {
	p, err := NewEpoll(batch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(nil)
	busy(t)
	const rounds = 20
	quick := 0
	for range rounds {
		var ended atomic.Bool
		go func() {
			_ = p.Wait(-1)
			ended.Store(true)
		}()
		for range 10 { // it waits; one that comes before is not lost either
			runtime.Gosched()
		}
		p.Wake()
		turns := 0
		for ; !ended.Load(); turns++ {
			runtime.Gosched()
		}
		if turns < 100 {
			quick++
		}
	}
	if quick < rounds/2 {
		t.Errorf("%d of %d times a Wait was over while another goroutine had less than 100 turns, want half of them",
			quick, rounds)
	}
}

// TestYieldBesideBusy: a Yield lets others run for about a millisecond, as a Sleep of that does,
// and not until sysmon looks at the network, which is ten times as long. Another goroutine's turns
// are counted: it has none while a busy machine lets this process wait. A Yield ends by a thread of
// its own, which such a machine starts late, so a quarter of the yields have to be quick.
func TestYieldBesideBusy(t *testing.T) {
	p, err := NewEpoll(batch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(nil)
	turns := busy(t)
	const rounds = 60
	var yields, sleeps []int64
	for range rounds {
		before := turns.Load()
		p.Yield()
		between := turns.Load()
		time.Sleep(time.Millisecond)
		yields, sleeps = append(yields, between-before), append(sleeps, turns.Load()-between)
	}
	slices.Sort(yields)
	slices.Sort(sleeps)
	if y, s := yields[rounds/4], sleeps[rounds/2]; y > 3*s {
		t.Errorf("another goroutine had %d turns during a yield, and %d during a sleep of a millisecond, want as many",
			y, s)
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
