package gcgate_test

import (
	"context"
	"fmt"
	"log"

	"evenkeel.dev/gcgate"
)

// What is no HTTP request is counted by hand. For net/http there is evenkeel.dev/gcgate/httpgate.
func Example() {
	g, err := gcgate.Start(context.Background(), gcgate.Options{Policy: gcgate.PolicyThrough})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Stop(context.Background())

	handle := func(message string) {
		ticket := g.Enter()
		defer ticket.Exit()
		inFlight, _ := g.Requests()
		fmt.Println(message, inFlight)
	}
	handle("hello, even keel")
	fmt.Println(g.State(), g.Stats().InFlight)
	// Output:
	// hello, even keel 1
	// serving 0
}
