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
