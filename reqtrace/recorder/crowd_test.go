package recorder

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/leaks"
)

// TestCrowd: what each generation says of 100,000 goroutines that wait counts once, at a
// goroutine's price, and not as what requests record, too.
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
		if least := int(2 * listed(f.parked)); s.Bytes < least {
			t.Errorf("a window of %v has room for %d bytes, and not for %d of two lists", s.Window, s.Bytes, least)
		}
		events := requests * requestBytes / eventBytes
		want := (time.Duration(events)*f.event + secondCost + time.Duration(f.parked)*goroutineCost).Seconds()
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
	least := math.Inf(1) // a generation may have more, of goroutines that run in it
	for range 20 {
		var before, c counter
		for _, c := range []*counter{&before, &c} {
			if _, err := p.writeTo(c); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.generations - before.generations; n > 0 {
			if least = min(least, float64(c.n-before.n)/float64(n)/parked); least < 1.3*listedBytes {
				break
			}
		}
	}
	if least < .8*listedBytes || least > 1.3*listedBytes {
		t.Errorf("a list has %.1f bytes a goroutine, not about %v", least, listedBytes)
	}
}
