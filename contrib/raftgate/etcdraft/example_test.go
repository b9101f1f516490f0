package etcdraft_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/contrib/raftgate/etcdraft"
)

func ExampleID() {
	fmt.Println(etcdraft.ID(0x8e9e05c52164694d))
	// Output:
	// 8e9e05c52164694d
}

// This group has one node, which leads once its loop has written what it says.
func ExampleNew() {
	storage := raft.NewMemoryStorage()
	_ = storage.ApplySnapshot(&raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		ConfState: &raftpb.ConfState{Voters: []uint64{1}}, Index: new(uint64(1)), Term: new(uint64(1)),
	}})
	node := raft.RestartNode(&raft.Config{
		ID: 1, Storage: storage, Applied: 1, ElectionTick: 10, HeartbeatTick: 1, MaxSizePerMsg: 1 << 20,
		MaxInflightMsgs: 256,
		Logger:          &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)},
	})
	defer node.Stop()
	group := etcdraft.New(node)
	member, err := raftgate.New(raftgate.Options{
		Raft: group,
		Ask:  raftgate.AskHTTP(nil, func(id string) string { return "http://raft-" + id + ":8080/raftgate" }),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer member.Close()
	if err := node.Campaign(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for group.Status().Leader == "" {
		ready := <-node.Ready() // a service goes on with this, and applies what is committed
		if err := storage.Append(ready.Entries); err != nil {
			fmt.Println(err)
			return
		}
		node.Advance()
	}
	st := group.Status()
	fmt.Println(member, "leads:", st.Leader == st.ID, "- voters:", st.Voters)
	// Output:
	// raft member 1 leads: true - voters: [{1 0}]
}
