package polled_test

import (
	"context"
	"fmt"

	"evenkeel.dev/gcgate/polled"
)

// A signal whose peer polls over some protocol of its own, in which one answer makes it act.
func Example() {
	var peers polled.Peers
	answer := func() string { // to one poll
		from, ok := polled.Allowed("tcp", "127.0.0.1:40000", nil)
		if !ok {
			return "who are you?"
		}
		draining := peers.Begin(from, polled.SaysNothing)
		defer peers.Answered(from, draining) // once the answer is written
		if draining {
			return "draining"
		}
		return "come"
	}
	fmt.Println(answer(), answer())

	drained := make(chan error)
	go func() { drained <- peers.Drain(context.Background(), polled.Demand{}) }()
	drains := 0
	for {
		select {
		case err := <-drained: // the peer heard it, and has polled once more
			fmt.Println(drains >= 2, err)
			return
		default:
			if answer() == "draining" {
				drains++
			}
		}
	}
	// Output:
	// come come
	// true <nil>
}
