package hashiraft_test

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"evenkeel.dev/contrib/raftgate/hashiraft"
)

// A member's transport gives up a successor that stalls.
func ExampleTransport() {
	network, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, 10*time.Second, io.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer network.Close()
	var transport raft.Transport = &hashiraft.Transport{NetworkTransport: network}
	_, votes := transport.(raft.WithPreVote)
	fmt.Println("it has what NetworkTransport has:", votes)
	// Output:
	// it has what NetworkTransport has: true
}
