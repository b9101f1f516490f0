package gcgatetest_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// balancer is a signal to be tested.
type balancer struct {
	name string
	once sync.Once // a gate repeats a Drain that lasts
}

func (b *balancer) Drain(context.Context, time.Duration) error {
	b.once.Do(func() { fmt.Println(b.name, "gets no requests") })
	return nil
}

func (b *balancer) Ready(context.Context) error { return nil }
func (b *balancer) String() string              { return b.name }

// Two gates in one process, neither of which touches its collector. In a test, run them in
// testing/synctest, and no time passes.
func Example() {
	for _, name := range []string{"a", "b"} {
		heap := gcgatetest.NewHeap()
		heap.Rate = 0 // nothing is collected but what is asked for
		heap.Mark = time.Millisecond
		g, err := gcgate.Start(context.Background(), gcgate.Options{
			Signals: []gcgate.Signal{&balancer{name: name}}, Collector: heap, Logger: slog.New(slog.DiscardHandler),
			DisableTurns:    true,             // each has a balancer of its own
			AnnounceTimeout: 10 * time.Second, // however slow the machine is
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer g.Stop(context.Background())
		if err := g.Collect(context.Background()); err != nil {
			fmt.Println(err)
		}
		fmt.Println(g.Stats().Collections[gcgate.ReasonRequested], "collection")
	}
	// Output:
	// a gets no requests
	// 1 collection
	// b gets no requests
	// 1 collection
}
