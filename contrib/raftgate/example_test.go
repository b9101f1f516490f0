package raftgate_test

import (
	"fmt"

	"evenkeel.dev/contrib/raftgate"
)

// A member needs its group and a way to the others.
func ExampleNew() {
	_, err := raftgate.New(raftgate.Options{
		Ask: raftgate.AskHTTP(nil, func(id string) string { return "http://" + id + "/raftgate" }),
	})
	fmt.Println(err)
	// Output:
	// raftgate: Options.Raft: it is not set: use etcdraft.New, hashiraft.New or a Raft of your own
}
