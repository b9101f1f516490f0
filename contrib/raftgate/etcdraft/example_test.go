package etcdraft_test

import (
	"fmt"

	"evenkeel.dev/contrib/raftgate/etcdraft"
)

// The ids of members are as the library's own log has them.
func ExampleID() {
	fmt.Println(etcdraft.ID(0x8e9e05c52164694d))
	// Output:
	// 8e9e05c52164694d
}
