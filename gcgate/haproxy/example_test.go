package haproxy_test

import (
	"fmt"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/haproxy"
)

// The signal of a replica that HAProxy's configuration calls server a of backend be, from a flag.
// FileTurns are for replicas on one host.
func Example() {
	h, err := haproxy.ParseRuntimeAPI("127.0.0.1:9199,be/a")
	if err != nil {
		fmt.Println(err)
		return
	}
	options := gcgate.Options{
		Signals: []gcgate.Signal{h},
		Turns:   gcgate.FileTurns{Path: "/run/hello/gcgate.lock"},
	}
	fmt.Println(options.Signals[0]) // gcgate.Start(ctx, options)
	// Output: HAProxy be/a at 127.0.0.1:9199
}
