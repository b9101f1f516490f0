package recorder

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/leaks"
)

// TestCrowd: what each generation says of 100,000 goroutines that wait counts once, at a goroutine's price, and not as what requests record, too.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.parked, f.lists = 100_000, true
		const requests = 1000 // a second
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * requests * requestBytes) }
		r := begin(t, f, Options{CPU: 1})
		for range 30 {
			r.requests.Add(requests)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		s := r.Stats()
		end(t, r)
		events := requests * requestBytes / eventBytes
		want := (time.Duration(events)*f.event + generationCost + time.Duration(f.parked)*goroutineCost).Seconds()
		if got := s.Cost.Tracing.Seconds() / s.Covered.Seconds(); got < .8*want || got > 1.2*want {
			t.Errorf("tracing took %.0f ms a second, not %.0f", 1e3*got, 1e3*want)
		}
	})
}

// TestListed: the runtime's lists have as many bytes a goroutine as the account takes for granted.
func TestListed(t *testing.T) {
	leaks.Test(t)
	const parked = 5000
	stop := make(chan bool)
	defer close(stop)
	var began sync.WaitGroup
	for range parked {
		began.Add(1)
		go func() {
			began.Done()
			<-stop
		}()
	}
	began.Wait()
	p := newRuntime(nil, nil)
	if err := p.start(leastWindow, leastBytes); err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	var born, all counter
	for _, c := range []*counter{&born, &all} { // the first generation may have their births
		if _, err := p.writeTo(c); err != nil {
			t.Fatal(err)
		}
	}
	more, lists := float64(all.n-born.n), float64(all.generations-born.generations)
	if want := lists * listed(parked); lists < 1 || more < .8*want || more > 1.3*want {
		t.Errorf("%.0f generations list %d goroutines in %.0f bytes, not in about %.0f", lists, parked, more, want)
	}
}
