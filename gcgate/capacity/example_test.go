package capacity_test

import (
	"fmt"
	"time"

	"evenkeel.dev/gcgate/capacity"
)

// Four replicas answer 6,000 requests a second, allocate 64 KiB for each and keep 300 MB; a
// collection holds its turn for 400 ms.
func ExampleTurnLoad() {
	const live = 300e6
	room := capacity.Room(live, 2*live, 0.1)
	load := capacity.TurnLoad(6000*64<<10, room, 400*time.Millisecond, 1)
	fmt.Printf("load of one turn: %.2f\n", load)
	fmt.Println("turns for it:", capacity.TurnsFor(6000*64<<10, room, 400*time.Millisecond, capacity.EasyLoad))
	// Output:
	// load of one turn: 0.55
	// turns for it: 1
}

func ExampleCompare() {
	outlooks, err := capacity.Compare(capacity.Service{
		Requests: 6000, AllocRate: 6000 * 64 << 10, Live: 300e6, Procs: 1,
		Work: capacity.Range{Low: 0.8, High: 1}, MarkPerByte: capacity.Exactly(1e-9),
	}, capacity.Options{Replicas: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range outlooks {
		fmt.Printf("%-8v  %.1f to %.1f GB in all, %2.0f to %2.0f%% of the CPU\n", o.Way,
			o.MemoryInAll.Low/1e9, o.MemoryInAll.High/1e9, 100*o.Collector.Low, 100*o.Collector.High)
	}
	// Output:
	// GOGC=100  2.4 to 2.9 GB in all, 28 to 39% of the CPU
	// GOGC=400  6.0 to 7.3 GB in all,  9 to 14% of the CPU
	// gated     2.4 to 3.1 GB in all, 29 to 34% of the CPU
}
